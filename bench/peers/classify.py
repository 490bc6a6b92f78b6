"""Classification throughput: fovea classify beside PyTorch with the same weights, on the same CPU, in one run.

    python3 bench/peers/classify.py FOVEA MODEL TEXT [THREADS]

FOVEA: the program. MODEL: a folder with a recurrent LSTM encoder, word vocabulary and pooling = "attention". TEXT: one
text per line; it is repeated to at least 50,000 lines. First the probabilities of both are compared. Times are without
loading and, of PyTorch, without tokenisation; those of fovea include reading, tokenising and writing. PyTorch runs in
several ways (one batch at a time on all threads; batches side by side on one thread each), and the fastest counts.
To make a model of the size that docs/performance.md names:

    fovea train recipes/classify-sst2.toml --set model.embedding=200 --set model.hidden=150 \
      --set classify.pooling=attention --set source_vocabulary.size=15000 --set data.train=... --set data.valid=...
"""
import concurrent.futures
import json
import os
import pathlib
import struct
import subprocess
import sys
import tempfile
import time

import torch
from torch import nn

BATCH, LEAST_LINES = 64, 50_000


def read_safetensors(path):
    data = path.read_bytes()
    size = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8:8 + size])
    tensors = {}
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        begin, end = entry["data_offsets"]
        assert entry["dtype"] == "F32", f"{name}: expected F32 (a model that is not packed), got {entry['dtype']}"
        values = torch.frombuffer(bytearray(data[8 + size + begin:8 + size + end]), dtype=torch.float32)
        tensors[name] = values.reshape(entry["shape"])
    return tensors


def read_vocabulary(path):
    lines = path.read_text(encoding="utf-8").split("\n")
    lower = lines[0].startswith("fovea lower-case")
    unescape = {"\\\\": "\\", "\\n": "\n", "\\r": "\r", "\\t": "\t"}
    ids = {}
    for i, line in enumerate(lines[1:-1]):
        for code, meaning in unescape.items():
            line = line.replace(code, meaning) if "\\" in line else line
        ids[line] = i + 4
    return lambda text: [ids.get(w, 1) for w in (text.lower() if lower else text).split()] + [3]


class Classifier(nn.Module):
    def __init__(self, config, tensors):
        super().__init__()
        model = config["model"]
        assert model["cell"] == "lstm" and config["classifier"]["pooling"] == ["attention"]
        words, size = tensors["encoder.words.table"].shape
        self.embedding = nn.Embedding(words, size)
        self.lstm = nn.LSTM(size, model["hidden"], num_layers=model["encoder_layers"], bidirectional=True)
        self.hidden = nn.Linear(*reversed(tensors["pooling.hidden.weight"].shape))
        self.score = nn.Linear(*reversed(tensors["pooling.score.weight"].shape), bias=False)
        self.out = nn.Linear(*reversed(tensors["classes.out.weight"].shape))
        weights = {"embedding.weight": "encoder.words.table", "hidden.weight": "pooling.hidden.weight",
                   "hidden.bias": "pooling.hidden.bias", "score.weight": "pooling.score.weight",
                   "out.weight": "classes.out.weight", "out.bias": "classes.out.bias"}
        for layer in range(model["encoder_layers"]):
            for suffix, direction in (("", "forward"), ("_reverse", "backward")):
                for kind, ours in (("ih", "input"), ("hh", "state")):
                    for what in ("weight", "bias"):
                        weights[f"lstm.{what}_{kind}_l{layer}{suffix}"] = f"encoder.layers.{layer}.{direction}.{ours}.{what}"
        self.load_state_dict({theirs: tensors[ours] for theirs, ours in weights.items()})
        self.eval()

    def forward(self, ids, lengths):  # [S,B], [B] sorted from long to short
        embedded = self.embedding(ids)
        if lengths[0] == lengths[-1]:
            states, _ = self.lstm(embedded)
        else:
            packed = nn.utils.rnn.pack_padded_sequence(embedded, lengths)
            states, _ = nn.utils.rnn.pad_packed_sequence(self.lstm(packed)[0])
        scores = self.score(torch.tanh(self.hidden(states))).squeeze(2)
        padding = torch.arange(ids.shape[0])[:, None] >= lengths[None, :]
        weights = scores.masked_fill(padding, -1e9).softmax(0)
        return self.out((weights[:, :, None] * states).sum(0)).softmax(1)


def batches_of(rows):
    order = sorted(range(len(rows)), key=lambda i: -len(rows[i]))
    batches = []
    for begin in range(0, len(order), BATCH):
        part = order[begin:begin + BATCH]
        ids = torch.zeros(len(rows[part[0]]), len(part), dtype=torch.long)
        for b, i in enumerate(part):
            ids[:len(rows[i]), b] = torch.tensor(rows[i])
        batches.append((part, ids, torch.tensor([len(rows[i]) for i in part])))
    return batches


def run_torch(model, batches, workers):
    def one(batch):
        with torch.inference_mode():
            return model(batch[1], batch[2])
    if workers == 1:
        return [one(batch) for batch in batches]
    with concurrent.futures.ThreadPoolExecutor(workers) as pool:
        return list(pool.map(one, batches))


def seconds(work, repeats=3):
    best = float("inf")
    for _ in range(repeats):
        begin = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - begin)
    return best


def main():
    fovea, folder, text = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
    threads = int(sys.argv[4]) if len(sys.argv) > 4 else len(os.sched_getaffinity(0))
    config = json.loads((folder / "config.json").read_text())
    model = Classifier(config, read_safetensors(folder / "model.safetensors"))
    encode = read_vocabulary(folder / "source.vocab")
    lines = text.read_text(encoding="utf-8").split("\n")[:-1]

    def classify(path, precision, *more):
        command = [fovea, "classify", "-m", str(folder), "-i", str(path), "--device", "cpu", "--precision", precision,
                   "--threads", str(threads), *more]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout

    with tempfile.TemporaryDirectory() as name:
        sample = pathlib.Path(name) / "sample.txt"
        sample.write_text("".join(line + "\n" for line in lines[:2000]), encoding="utf-8")
        ours = [{c["label"]: c["probability"] for c in json.loads(line)["classes"]}
                for line in classify(sample, "f32", "--json").splitlines()]
        torch.set_num_threads(threads)
        batches = batches_of([encode(line) for line in lines[:2000]])
        largest = 0.0
        for (rows, _, _), probabilities in zip(batches, run_torch(model, batches, 1)):
            for b, i in enumerate(rows):
                for label, p in zip(config["labels"], probabilities[b].tolist()):
                    largest = max(largest, abs(p - ours[i][label]))
        print(f"largest difference of a probability: {largest:.2e}")
        assert largest < 1e-3, "the two do not compute the same"

        many = lines * (1 + LEAST_LINES // len(lines))
        everything, single = pathlib.Path(name) / "many.txt", pathlib.Path(name) / "one.txt"
        everything.write_text("".join(line + "\n" for line in many), encoding="utf-8")
        single.write_text(lines[0] + "\n", encoding="utf-8")
        best_ours = 0.0
        for precision in ("f32", "bf16", "int8"):
            taken = seconds(lambda: classify(everything, precision)) - seconds(lambda: classify(single, precision))
            best_ours = max(best_ours, len(many) / taken)
            print(f"fovea {precision:5} {threads:3} threads: {len(many) / taken:10,.0f} texts/s")
        rows = [encode(line) for line in many]
        batches = batches_of(rows)
        best_torch = 0.0
        for inside, workers in {(threads, 1), (max(1, threads // 4), 1), (1, 1), (1, threads)}:
            torch.set_num_threads(inside)
            run_torch(model, batches[:8], workers)
            taken = seconds(lambda: run_torch(model, batches, workers), 2)
            best_torch = max(best_torch, len(many) / taken)
            print(f"torch {torch.__version__} f32, {inside} threads x {workers} batches: {len(many) / taken:10,.0f} texts/s")
        print(f"fovea is {best_ours / best_torch:.1f} times as fast")


if __name__ == "__main__":
    main()
