#!/usr/bin/env python3
"""Makes the models in tests/interchange/models: tiny ones with random weights, in the formats of other programs, and
what they answer. The answers come from the reference in this file, which follows the published architectures in numpy
and shares nothing with Fovea. Needs Debian's python3-numpy and python3-sentencepiece; the results are committed.

    tests/interchange/make_fixtures.py tests/interchange/models
"""
import collections
import functools
import io
import json
import math
import pathlib
import pickle
import struct
import sys
import types
import zipfile

import numpy as np
import sentencepiece

SOURCE = """the cat sees a small house near the river
a small cat and a big dog sleep in the house
the dog sees the cat near the big river
we see a river and two big houses
two dogs and three cats sleep near the river
I see the small dog in the big house
the river is near and the house is small
three small cats see two big dogs""".split("\n")
TARGET = """die Katze sieht ein kleines Haus am Fluss
eine kleine Katze und ein grosser Hund schlafen im Haus
der Hund sieht die Katze am grossen Fluss
wir sehen einen Fluss und zwei grosse Haeuser
zwei Hunde und drei Katzen schlafen am Fluss
ich sehe den kleinen Hund im grossen Haus
der Fluss ist nah und das Haus ist klein
drei kleine Katzen sehen zwei grosse Hunde""".split("\n")
LINES = ["the cat sees a dog", "two big houses near the river", "I see three small cats", "a dog é sleeps", "river"]
MAX_LENGTH = 12


# The reference.

def gelu(x):
    return 0.5 * x * (1 + np.array([math.erf(v) for v in x.ravel() / math.sqrt(2)]).reshape(x.shape))


def gelu_tanh(x):
    return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x ** 3)))


ACTIVATIONS = {"relu": lambda x: np.maximum(x, 0), "swish": lambda x: x / (1 + np.exp(-x)), "gelu": gelu, "gelu_new": gelu_tanh}


def layer_norm(x, w):
    mean = x.mean(-1, keepdims=True)
    return (x - mean) / np.sqrt(((x - mean) ** 2).mean(-1, keepdims=True) + 1e-5) * w[0] + w[1]


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def sinusoids(count, d):
    """All sines before all cosines."""
    angles = np.arange(count)[:, None] / 10000 ** (2 * np.arange(d // 2) / d)
    return np.concatenate([np.sin(angles), np.cos(angles)], 1)


class Dull(Exception):
    """The translations of a model are all the same or one token again and again, or f32 rounds its logits too much."""


class Reference:
    """One sentence at a time: w has matrices [out,in] with their biases as pairs, by short names."""

    def __init__(self, w, heads, layers, activation, pre_norm, scale):
        self.w, self.heads, self.layers, self.pre_norm, self.scale = w, heads, layers, pre_norm, scale
        self.activation = ACTIVATIONS[activation]

    def linear(self, name, x):
        weight, bias = self.w[name]
        return x @ weight.T + bias

    def attend(self, name, x, memory, causal):
        def split(y):
            return y.reshape(len(y), self.heads, -1).transpose(1, 0, 2)
        q, k, v = (split(self.linear(f"{name}.{part}", y)) for part, y in (("q", x), ("k", memory), ("v", memory)))
        scores = q @ k.transpose(0, 2, 1) / math.sqrt(q.shape[-1])
        if causal:
            scores = scores + np.triu(np.full(scores.shape[1:], -1e30), 1)
        y = softmax(scores) @ v
        return self.linear(f"{name}.o", y.transpose(1, 0, 2).reshape(len(x), -1))

    def sublayer(self, name, x, f):
        if self.pre_norm:
            return x + f(layer_norm(x, self.w[f"{name}.norm"]))
        return layer_norm(x + f(x), self.w[f"{name}.norm"])

    def feed_forward(self, name):
        return lambda y: self.linear(f"{name}.2", self.activation(self.linear(f"{name}.1", y)))

    def encode(self, ids):
        x = self.w["source"][ids] * self.scale + self.w["encoder.positions"][:len(ids)]
        for i in range(self.layers):
            x = self.sublayer(f"e{i}.self", x, lambda y: self.attend(f"e{i}.self", y, y, False))
            x = self.sublayer(f"e{i}.ffn", x, self.feed_forward(f"e{i}.ffn"))
        return layer_norm(x, self.w["e.norm"]) if self.pre_norm else x

    def decode(self, states, ids):
        """Logits [T,V] after each of the ids."""
        x = self.w["target"][ids]
        if self.w.get("zero_start"):
            x[0] = 0
        x = x * self.scale + self.w["decoder.positions"][:len(ids)]
        for i in range(self.layers):
            x = self.sublayer(f"d{i}.self", x, lambda y: self.attend(f"d{i}.self", y, y, True))
            x = self.sublayer(f"d{i}.cross", x, lambda y: self.attend(f"d{i}.cross", y, states, False))
            x = self.sublayer(f"d{i}.ffn", x, self.feed_forward(f"d{i}.ffn"))
        x = layer_norm(x, self.w["d.norm"]) if self.pre_norm else x
        return x @ self.w["out"].T + self.w["bias"]

    def rounding(self, ids, target):
        """The largest difference of the logits in f32."""
        def narrow(x):
            return tuple(map(narrow, x)) if isinstance(x, tuple) else x.astype(np.float32) if isinstance(x, np.ndarray) else x
        other = Reference({name: narrow(x) for name, x in self.w.items()}, self.heads, self.layers, "relu", self.pre_norm, np.float32(self.scale))
        other.activation = self.activation
        return np.abs(self.decode(self.encode(ids), target) - other.decode(other.encode(ids), target)).max()

    def beam(self, ids, k, start, end, banned):
        """As transformers searches with early_stopping and without a length penalty; k = 1 is greedy."""
        states = self.encode(ids)
        live, finished = [(0.0, [start])], []
        while len(finished) < k and len(live[0][1]) <= MAX_LENGTH:
            candidates = []
            for total, prefix in live:
                logits = self.decode(states, prefix)[-1]
                log_p = logits - logits.max() - math.log(np.exp(logits - logits.max()).sum())
                log_p[banned] = -np.inf
                candidates += [(total + p, prefix + [token]) for token, p in enumerate(log_p)]
            best = sorted(candidates, key=lambda c: -c[0])[:2 * k]
            live = []
            for rank, (total, prefix) in enumerate(best):
                if prefix[-1] == end:
                    if rank < k:
                        finished.append((total, prefix[1:-1]))
                elif len(live) < k:
                    live.append((total, prefix))
        # At the limit, the best that has not ended counts only if none has.
        finished = finished or [(total, prefix[1:]) for total, prefix in live]
        return max(finished, key=lambda f: f[0])[1]


# Weights.

def random_weights(rng, d, ffn, layers, pre_norm, source, target, shared, tied):
    w = {}
    def matrix(name, out, inner):
        w[name] = (rng.normal(0, 0.8, (out, inner)), rng.normal(0, 0.3, out))
    def norm(name):
        w[name] = (1 + rng.normal(0, 0.2, d), rng.normal(0, 0.2, d))
    for side, attentions in (("e", ["self"]), ("d", ["self", "cross"])):
        for i in range(layers):
            for attention in attentions:
                for part in "qkvo":
                    matrix(f"{side}{i}.{attention}.{part}", d, d)
                norm(f"{side}{i}.{attention}.norm")
            matrix(f"{side}{i}.ffn.1", ffn, d)
            matrix(f"{side}{i}.ffn.2", d, ffn)
            norm(f"{side}{i}.ffn.norm")
        if pre_norm:
            norm(f"{side}.norm")
    w["target"] = rng.normal(0, 0.6, (target, d))
    w["source"] = w["target"] if shared else rng.normal(0, 0.6, (source, d))
    w["out"] = w["target"] if tied else rng.normal(0, 0.6, (target, d))
    w["bias"] = rng.normal(0, 0.5, target)
    return w


def rounded(w, dtype):
    """The weights as a file of that type gives them back."""
    def cast(x):
        return x.astype(dtype).astype(np.float64)
    return {k: tuple(map(cast, v)) if isinstance(v, tuple) else cast(v) if isinstance(v, np.ndarray) else v for k, v in w.items()}


# Files.

def write_safetensors(path, tensors):
    header, at = {"__metadata__": {"format": "pt"}}, 0
    for name, x in tensors.items():
        header[name] = {"dtype": {"float32": "F32", "float16": "F16"}[x.dtype.name], "shape": list(x.shape), "data_offsets": [at, at + x.nbytes]}
        at += x.nbytes
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + b"".join(x.tobytes() for x in tensors.values()))


class Storage:
    def __init__(self, key, kind, elements):
        self.id = ("storage", kind, key, "cpu", elements)


class StoredTensor:
    def __init__(self, storage, shape, strides):
        self.arguments = (storage, 0, shape, strides, False, collections.OrderedDict())

    def __reduce__(self):
        return sys.modules["torch._utils"]._rebuild_tensor_v2, self.arguments


def fake_torch():
    """The names that pickles of tensors refer to, without PyTorch."""
    for name in ("torch", "torch._utils"):
        sys.modules[name] = types.ModuleType(name)
    for kind in ("FloatStorage", "HalfStorage"):
        setattr(sys.modules["torch"], kind, type(kind, (), {"__module__": "torch"}))
    def rebuild():
        pass
    rebuild.__module__, rebuild.__name__, rebuild.__qualname__ = "torch._utils", "_rebuild_tensor_v2", "_rebuild_tensor_v2"
    sys.modules["torch._utils"]._rebuild_tensor_v2 = rebuild


def dump(value, legacy=False):
    class Pickler(pickle.Pickler):
        def persistent_id(self, obj):
            return obj.id + ((None,) if legacy else ()) if isinstance(obj, Storage) else None
    out = io.BytesIO()
    Pickler(out, 2).dump(value)
    return out.getvalue()


def state_dict(tensors):
    state, arrays = collections.OrderedDict(), {}
    for key, (name, x) in enumerate(tensors.items()):
        kind = getattr(sys.modules["torch"], {"float32": "FloatStorage", "float16": "HalfStorage"}[x.dtype.name])
        # One matrix is stored with its axes exchanged, as a transposed view is.
        transposed = name.endswith("layers.0.fc1.weight")
        strides = (1, x.shape[0]) if transposed else tuple(int(np.prod(x.shape[i + 1:])) for i in range(x.ndim))
        state[name] = StoredTensor(Storage(str(key), kind, x.size), x.shape, strides)
        arrays[str(key)] = (x.T if transposed else x).tobytes(), x.size
    return state, arrays


def write_pytorch(path, tensors):
    state, arrays = state_dict(tensors)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        def add(name, data):
            archive.writestr(zipfile.ZipInfo(f"pytorch_model/{name}", (1980, 1, 1, 0, 0, 0)), data)
        add("data.pkl", dump(state))
        add("byteorder", b"little")
        for key, (data, _) in arrays.items():
            add(f"data/{key}", data)
        add("version", b"3\n")


def write_legacy_pytorch(path, tensors):
    state, arrays = state_dict(tensors)
    machine = dict(protocol_version=1001, little_endian=True, type_sizes=dict(short=2, int=4, long=4))
    keys = sorted(arrays)
    data = [pickle.dumps(0x1950a86a20f9469cfc6c, 2), pickle.dumps(1001, 2), pickle.dumps(machine, 2), dump(state, True), pickle.dumps(keys, 2)]
    path.write_bytes(b"".join(data) + b"".join(struct.pack("<q", arrays[k][1]) + arrays[k][0] for k in keys))


@functools.cache
def trained_spm(lines, kind):
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(lines), model_writer=model, vocab_size=48, model_type=kind,
        hard_vocab_limit=kind == "bpe", character_coverage=1.0, normalization_rule_name="identity", num_threads=1, minloglevel=3)
    return model.getvalue()


def train_spm(path, lines, kind="unigram"):
    model = trained_spm(tuple(lines), kind)
    path.write_bytes(model)
    return sentencepiece.SentencePieceProcessor(model_proto=model)


def pieces_of(spm):
    return [spm.id_to_piece(i) for i in range(spm.get_piece_size()) if not spm.is_control(i) and not spm.is_unknown(i)]


def marian_vocab(rng, pieces, tags):
    """In an order of its own, without some pieces that the text has, the end mark first and the padding last."""
    pieces = list(dict.fromkeys(pieces))
    rng.shuffle(pieces)
    kept = [p for p in pieces if p not in ("▁and", "g")]
    return {piece: i for i, piece in enumerate(["</s>", "<unk>"] + tags + kept + ["<pad>"])}


def encode(spm, vocab, line):
    tags = []
    if line.startswith(">>"):
        end = line.index("<<") + 2
        tags, line = [line[:end]], line[end:]
    return [vocab.get(piece, vocab["<unk>"]) for piece in tags + spm.encode(line, out_type=str)]


def text_of(vocab, ids):
    pieces = {i: piece for piece, i in vocab.items()}
    return "".join(pieces[i] for i in ids).replace("▁", " ").strip()


def write_expected(folder, model, lines, source_ids, text, start, end, banned):
    all_greedy = [model.beam(source_ids(line), 1, start, end, banned) for line in lines]
    different = len({tuple(greedy) for greedy in all_greedy})
    if max(len(set(greedy)) for greedy in all_greedy) < 3 or different < 4:
        raise Dull
    if max(model.rounding(source_ids(line), [start] + greedy) for line, greedy in zip(lines, all_greedy)) > 2e-5:
        raise Dull
    cases = []
    for i, (line, greedy) in enumerate(zip(lines, all_greedy)):
        ids = source_ids(line)
        case = {"line": line, "source": ids, "greedy": greedy, "greedy_text": text(greedy), "beam_text": text(model.beam(ids, 4, start, end, banned))}
        if i < 2:
            logits = model.decode(model.encode(ids), [start] + greedy)
            case["logits"] = [[round(float(x), 6) for x in row] for row in logits]
        cases.append(case)
    (folder / "expected.json").write_text(json.dumps(cases, ensure_ascii=False, indent=1) + "\n")


MARIAN_PARTS = {"q": "q_proj", "k": "k_proj", "v": "v_proj", "o": "out_proj"}


def marian_names(w, layers, shared, tied):
    tensors = {}
    def put(name, pair):
        tensors[name + ".weight"], tensors[name + ".bias"] = pair
    for side, module, attentions in (("e", "encoder", {"self": "self_attn"}), ("d", "decoder", {"self": "self_attn", "cross": "encoder_attn"})):
        for i in range(layers):
            prefix = f"model.{module}.layers.{i}"
            for attention, name in attentions.items():
                for part, projection in MARIAN_PARTS.items():
                    put(f"{prefix}.{name}.{projection}", w[f"{side}{i}.{attention}.{part}"])
                put(f"{prefix}.{name}_layer_norm", w[f"{side}{i}.{attention}.norm"])
            put(f"{prefix}.fc1", w[f"{side}{i}.ffn.1"])
            put(f"{prefix}.fc2", w[f"{side}{i}.ffn.2"])
            put(f"{prefix}.final_layer_norm", w[f"{side}{i}.ffn.norm"])
        if f"{side}.norm" in w:
            put(f"model.{module}.layer_norm", w[f"{side}.norm"])
    if shared:
        tensors["model.shared.weight"] = w["target"]
    else:
        tensors["model.encoder.embed_tokens.weight"] = w["source"]
        tensors["model.decoder.embed_tokens.weight"] = w["target"]
    if not tied:
        tensors["lm_head.weight"] = w["out"]
    tensors["final_logits_bias"] = w["bias"][None]
    return tensors


def make_marian(root, name, seed, write, file_name, d=16, ffn=24, layers=2, heads=4, activation="swish", shared=True, tied=True,
                scaled=True, pre_norm=False, tags=(), dtype=np.float32, positions=None, model_type="unigram"):
    rng = np.random.default_rng(seed)
    folder = root / name
    folder.mkdir(parents=True, exist_ok=True)
    source_spm = train_spm(folder / "source.spm", SOURCE, model_type)
    target_spm = train_spm(folder / "target.spm", TARGET, model_type)
    if shared:
        vocab = target_vocab = marian_vocab(rng, pieces_of(source_spm) + pieces_of(target_spm), list(tags))
    else:
        vocab, target_vocab = (marian_vocab(rng, pieces_of(spm), []) for spm in (source_spm, target_spm))
        size = max(len(vocab), len(target_vocab))
        for v in (vocab, target_vocab):  # transformers needs both in one size, with the padding last
            pad = v.pop("<pad>")
            v.update({f"▁extra{i}": i for i in range(pad, size - 1)})
            v["<pad>"] = size - 1
        (folder / "target_vocab.json").write_text(json.dumps(target_vocab, indent=0) + "\n")
    (folder / "vocab.json").write_text(json.dumps(vocab, indent=0) + "\n")
    w = random_weights(rng, d, ffn, layers, pre_norm, len(vocab), len(target_vocab), shared, tied)
    pad = len(target_vocab) - 1
    if scaled:
        for table in ("source", "target"):
            w[table] /= math.sqrt(d) / 2
        w["out"] = w["target"] if tied else w["out"]
    w["source"][pad] = w["target"][pad] = 0
    w = rounded(w, dtype)
    tensors = {k: v.astype(dtype) for k, v in marian_names(w, layers, shared, tied).items()}
    if positions is not None:
        table = positions(32, d).astype(np.float32)
        tensors["model.encoder.embed_positions.weight"] = tensors["model.decoder.embed_positions.weight"] = table
    write(folder / file_name, tensors)
    config = {"architectures": ["MarianMTModel"], "model_type": "marian", "activation_function": activation, "d_model": d,
              "encoder_layers": layers, "decoder_layers": layers, "encoder_attention_heads": heads, "decoder_attention_heads": heads,
              "encoder_ffn_dim": ffn, "decoder_ffn_dim": ffn, "vocab_size": len(vocab), "pad_token_id": pad, "eos_token_id": 0,
              "bos_token_id": 0, "decoder_start_token_id": pad, "bad_words_ids": [[pad]], "scale_embedding": scaled,
              "normalize_before": pre_norm, "add_final_layer_norm": pre_norm, "normalize_embedding": False,
              "static_position_embeddings": True, "max_position_embeddings": 32, "num_beams": 4, "is_encoder_decoder": True}
    if not shared:
        config.update({"share_encoder_decoder_embeddings": False, "decoder_vocab_size": len(target_vocab)})
    if not tied:
        config["tie_word_embeddings"] = False
    (folder / "config.json").write_text(json.dumps(config, indent=1) + "\n")
    table = (positions or sinusoids)(64, d)
    model = Reference(dict(w, **{"encoder.positions": table, "decoder.positions": table}), heads, layers, activation, pre_norm,
                      math.sqrt(d) if scaled else 1.0)
    lines = [f"{tags[i % len(tags)]} {line}" for i, line in enumerate(LINES)] if tags else LINES
    write_expected(folder, model, lines, lambda line: encode(source_spm, vocab, line) + [0], lambda ids: text_of(target_vocab, ids), pad, 0,
                   [pad, 1])


# CTranslate2.

def opennmt_sinusoids(count, d):
    """What CTranslate2 computes where a file has no positions: OpenNMT-tf's."""
    timescales = np.exp(-math.log(10000) / (d // 2 - 1) * np.arange(d // 2))
    angles = (1 + np.arange(count))[:, None] * timescales
    return np.concatenate([np.sin(angles), np.cos(angles)], 1)


CODES = {"float32": 0, "int8": 1, "int16": 2, "int32": 3, "float16": 4}


def write_model_bin(path, version, name, revision, variables, aliases):
    def string(text):
        return struct.pack("<H", len(text) + 1) + text.encode() + b"\0"
    out = struct.pack("<I", version) + string(name) + struct.pack("<II", revision, len(variables))
    for variable, x in sorted(variables.items()):
        x = np.asarray(x)
        out += string(variable) + struct.pack("<B", x.ndim) + b"".join(struct.pack("<I", n) for n in x.shape)
        out += struct.pack("<BI", CODES[x.dtype.name], x.nbytes) if version >= 4 else struct.pack("<BI", x.itemsize, x.size)
        out += x.tobytes()
    if version >= 3:
        out += struct.pack("<I", len(aliases)) + b"".join(string(a) + string(b) for a, b in sorted(aliases.items()))
    path.write_bytes(out)


def ctranslate2_names(w, layers):
    variables = {}
    def linear(name, *pairs):
        variables[name + "/weight"] = np.concatenate([p[0] for p in pairs])
        variables[name + "/bias"] = np.concatenate([p[1] for p in pairs])
    def norm(name, pair):
        variables[name + "/gamma"], variables[name + "/beta"] = pair
    for side, module in (("e", "encoder"), ("d", "decoder")):
        for i in range(layers):
            prefix = f"{module}/layer_{i}"
            linear(f"{prefix}/self_attention/linear_0", *(w[f"{side}{i}.self.{p}"] for p in "qkv"))
            linear(f"{prefix}/self_attention/linear_1", w[f"{side}{i}.self.o"])
            norm(f"{prefix}/self_attention/layer_norm", w[f"{side}{i}.self.norm"])
            if side == "d":
                linear(f"{prefix}/attention/linear_0", w[f"{side}{i}.cross.q"])
                linear(f"{prefix}/attention/linear_1", *(w[f"{side}{i}.cross.{p}"] for p in "kv"))
                linear(f"{prefix}/attention/linear_2", w[f"{side}{i}.cross.o"])
                norm(f"{prefix}/attention/layer_norm", w[f"{side}{i}.cross.norm"])
            linear(f"{prefix}/ffn/linear_0", w[f"{side}{i}.ffn.1"])
            linear(f"{prefix}/ffn/linear_1", w[f"{side}{i}.ffn.2"])
            norm(f"{prefix}/ffn/layer_norm", w[f"{side}{i}.ffn.norm"])
        if f"{side}.norm" in w:
            norm(f"{module}/layer_norm", w[f"{side}.norm"])
    variables["decoder/projection/bias"] = w["bias"]
    return variables


def quantised(variables, dtype):
    """Matrices times a factor for each row (8 bits) or for all (16 bits), and the matrices as they are then read."""
    stored, read = {}, {}
    for name, x in variables.items():
        if not name.endswith("/weight"):
            stored[name] = read[name] = x.astype(np.float32)
            continue
        scale = 127 / np.abs(x).max(1) if dtype == np.int8 else np.float64(2 ** 10 / np.abs(x).max())
        scale = scale.astype(np.float32)
        factor = scale[:, None] if dtype == np.int8 else scale
        stored[name], stored[name + "_scale"] = np.rint(x * factor).astype(dtype), scale
        read[name] = stored[name].astype(np.float64) / factor
    return stored, read


def weights_from(variables, w, layers, d):
    """The reference's weights, from variables of CTranslate2: after they were rounded."""
    w = dict(w)
    def pair(name, block=0, blocks=1):
        x, b = variables[name + "/weight"], variables[name + "/bias"]
        n = len(x) // blocks
        return x[n * block:n * (block + 1)].astype(np.float64), b[n * block:n * (block + 1)].astype(np.float64)
    for side, module in (("e", "encoder"), ("d", "decoder")):
        for i in range(layers):
            prefix = f"{module}/layer_{i}"
            for block, part in enumerate("qkv"):
                w[f"{side}{i}.self.{part}"] = pair(f"{prefix}/self_attention/linear_0", block, 3)
            w[f"{side}{i}.self.o"] = pair(f"{prefix}/self_attention/linear_1")
            if side == "d":
                w[f"{side}{i}.cross.q"] = pair(f"{prefix}/attention/linear_0")
                for block, part in enumerate("kv"):
                    w[f"{side}{i}.cross.{part}"] = pair(f"{prefix}/attention/linear_1", block, 2)
                w[f"{side}{i}.cross.o"] = pair(f"{prefix}/attention/linear_2")
            w[f"{side}{i}.ffn.1"], w[f"{side}{i}.ffn.2"] = pair(f"{prefix}/ffn/linear_0"), pair(f"{prefix}/ffn/linear_1")
    return w


def make_ctranslate2_of_marian(root, name, seed, d=16, ffn=24, layers=2, heads=4):
    """As converted from Marian: shared vocabulary, 8 bits, aliases, stored positions, decoding from zeros."""
    rng = np.random.default_rng(seed)
    folder = root / name
    folder.mkdir(parents=True, exist_ok=True)
    spm = train_spm(folder / "source.spm", SOURCE + TARGET)
    (folder / "target.spm").write_bytes((folder / "source.spm").read_bytes())
    tokens = ["</s>", "<unk>"] + sorted(pieces_of(spm), key=lambda p: p[::-1])
    vocab = {piece: i for i, piece in enumerate(tokens)}
    (folder / "shared_vocabulary.json").write_text(json.dumps(tokens, indent=0) + "\n")
    config = {"add_source_bos": False, "add_source_eos": True, "bos_token": "<s>", "decoder_start_token": "<s>", "eos_token": "</s>",
              "layer_norm_epsilon": None, "multi_query_attention": False, "unk_token": "<unk>"}
    (folder / "config.json").write_text(json.dumps(config, indent=1) + "\n")
    w = random_weights(rng, d, ffn, layers, False, len(tokens), len(tokens), True, True)
    w["target"] /= math.sqrt(d) / 2
    w = rounded(w, np.float32)
    variables = dict(ctranslate2_names(w, layers), **{"decoder/embeddings/weight": w["target"]})
    stored, read = quantised(variables, np.int8)
    w = weights_from(read, w, layers, d)
    w["source"] = w["target"] = w["out"] = read["decoder/embeddings/weight"]
    table = sinusoids(2048, d).astype(np.float32)[:64]
    for side in ("encoder", "decoder"):
        stored.update({f"{side}/num_heads": np.int16(heads), f"{side}/pre_norm": np.int8(0), f"{side}/activation": np.int8(2),
                       f"{side}/scale_embeddings": np.int8(1)})
    stored.update({"decoder/position_encodings/encodings": table, "decoder/start_from_zero_embedding": np.int8(1),
                   "encoder/embeddings_merge": np.int8(0), "decoder/alignment_layer": np.int16(-1), "decoder/alignment_heads": np.int16(1)})
    aliases = {"encoder/position_encodings/encodings": "decoder/position_encodings/encodings"}
    for other in ("encoder/embeddings_0", "decoder/projection"):
        for part in ("weight", "weight_scale"):
            aliases[f"{other}/{part}"] = f"decoder/embeddings/{part}"
    write_model_bin(folder / "model.bin", 6, "TransformerSpec", 7, stored, aliases)
    model = Reference(dict(w, **{"encoder.positions": table, "decoder.positions": table, "zero_start": True}), heads, layers, "swish",
                      False, math.sqrt(d))
    write_expected(folder, model, LINES, lambda line: encode(spm, vocab, line) + [0], lambda ids: text_of(vocab, ids), 1, 0, [1])


def make_ctranslate2_of_opennmt(root, name, seed, d=16, ffn=24, layers=2, heads=8):
    """Of an old version: two vocabularies as text, words, no end mark, computed positions, pre-norm, 16 bits."""
    rng = np.random.default_rng(seed)
    folder = root / name
    folder.mkdir(parents=True, exist_ok=True)
    vocabularies = []
    for side, lines in (("source", SOURCE), ("target", TARGET)):
        tokens = ["<blank>", "<s>", "</s>"] + sorted({word for line in lines for word in line.split()}, key=lambda t: t[::-1])
        (folder / f"{side}_vocabulary.txt").write_text("\n".join(tokens) + "\n")
        vocabularies.append({token: i for i, token in enumerate(tokens + ["<unk>"])})
    source, target = vocabularies
    w = random_weights(rng, d, ffn, layers, True, len(source), len(target), False, False)
    w = rounded(w, np.float32)
    variables = dict(ctranslate2_names(w, layers), **{"encoder/embeddings/weight": w["source"], "decoder/embeddings/weight": w["target"],
                                                      "decoder/projection/weight": w["out"]})
    stored, read = quantised(variables, np.int16)
    w = weights_from(read, w, layers, d)
    w["source"], w["target"], w["out"] = (read[k] for k in ("encoder/embeddings/weight", "decoder/embeddings/weight", "decoder/projection/weight"))
    stored.update({"encoder/embeddings/multiply_by_sqrt_depth": np.int8(0), "decoder/embeddings/multiply_by_sqrt_depth": np.int8(0)})
    write_model_bin(folder / "model.bin", 2, "TransformerBase", 2, stored, {})
    table = opennmt_sinusoids(64, d)
    model = Reference(dict(w, **{"encoder.positions": table, "decoder.positions": table}), heads, layers, "relu", True, 1.0)
    words = {i: token for token, i in target.items()}
    write_expected(folder, model, LINES, lambda line: [source.get(t, source["<unk>"]) for t in line.split()],
                   lambda ids: " ".join(words[i] for i in ids), 1, 2, [0, 1, target["<unk>"]])


def learned(count, d):
    return np.random.default_rng(5).normal(0, 0.5, (32, d)).astype(np.float32).astype(np.float64)[:count]


def make(maker, root, name, seed, *arguments, **settings):
    """With the first seed whose translations differ."""
    for attempt in range(1000):
        try:
            maker(root, name, 1000 * seed + attempt, *arguments, **settings)
            return
        except Dull:
            pass
    sys.exit(f"{name}: no seed is good")


def main():
    root = pathlib.Path(sys.argv[1])
    fake_torch()
    make(make_marian, root, "shared-relu", 1, write_safetensors, "model.safetensors", activation="relu")
    make(make_marian, root, "separate-swish", 2, write_pytorch, "pytorch_model.bin", shared=False, model_type="bpe")
    make(make_marian, root, "pre-norm", 3, write_legacy_pytorch, "pytorch_model.bin", pre_norm=True)
    make(make_marian, root, "tags-gelu", 4, write_safetensors, "model.safetensors", activation="gelu", dtype=np.float16,
                tags=[">>deu<<", ">>nld<<"])
    make(make_marian, root, "untied", 5, write_safetensors, "model.safetensors", tied=False, positions=sinusoids, activation="gelu_new")
    make(make_marian, root, "unscaled-learned", 6, write_pytorch, "pytorch_model.bin", scaled=False, positions=learned, dtype=np.float16)
    make(make_ctranslate2_of_marian, root, "ctranslate2-shared", 7)
    make(make_ctranslate2_of_opennmt, root, "ctranslate2-words", 8)


if __name__ == "__main__":
    main()
