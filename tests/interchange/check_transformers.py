#!/usr/bin/env python3
"""Compares Fovea with Hugging Face's transformers on MarianMT models, in both directions; ends with status 77, and says
why, where transformers is not installed.

    check_transformers.py PROGRAM [FOLDER...]

Without folders, five models with random weights are made by transformers itself. Compared for each: the token ids, the
log-probability of every token of a known target (within 1e-4), greedy search and beam search (beam 4, no length
penalty); then all of that again for the folder that `fovea export` writes of it.
"""
import json
import pathlib
import random
import subprocess
import sys
import tempfile

try:
    import torch
    import transformers
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

SAMPLES = pathlib.Path(__file__).parent / "models"
MAX_LENGTH, SENTENCES = 24, 200
WORDS = "the a cat dog house river sees sleeps near big small three two and in I we".split()

# What differs from the samples' config.json.
CONFIGURATIONS = {
    "shared-swish": ("shared-relu", {"activation_function": "swish"}),
    "shared-relu-unscaled": ("shared-relu", {"activation_function": "relu", "scale_embedding": False}),
    "separate-gelu": ("separate-swish", {"activation_function": "gelu"}),
    "untied-gelu-new": ("untied", {"activation_function": "gelu_new"}),
    "tags": ("tags-gelu", {"activation_function": "swish"}),
}


def make(folder, sample, changes):
    """A model with random weights and the vocabularies of a sample."""
    settings = dict(json.loads((SAMPLES / sample / "config.json").read_text()), **changes)
    for unknown in ("normalize_before", "add_final_layer_norm", "bad_words_ids", "num_beams"):
        settings.pop(unknown, None)
    torch.manual_seed(len(sample))
    model = transformers.MarianMTModel(transformers.MarianConfig(**settings, init_std=0.3)).eval()
    with torch.no_grad():
        model.final_logits_bias.normal_(0, 0.5)
        model.final_logits_bias[0, settings["eos_token_id"]] += 1
    model.save_pretrained(folder)
    for name in ("source.spm", "target.spm", "vocab.json", "target_vocab.json"):
        if (SAMPLES / sample / name).exists():
            (folder / name).write_bytes((SAMPLES / sample / name).read_bytes())
    (folder / "tokenizer_config.json").write_text(json.dumps({"separate_vocabs": (folder / "target_vocab.json").exists()}))


def lines_for(folder):
    chance = random.Random(1)
    tags = [token for token in json.loads((folder / "vocab.json").read_text()) if token.startswith(">>")]
    lines = [" ".join(chance.choices(WORDS, k=chance.randint(1, 9))) for _ in range(SENTENCES)]
    return [f"{chance.choice(tags)} {line}" if tags else line for line in lines]


def fovea(program, command, *arguments):
    result = subprocess.run([program, command, *map(str, arguments)], capture_output=True, text=True)
    if result.returncode != 0:
        sys.exit(f"{command}: {result.stderr}")
    return result.stdout.splitlines()


def by_transformers(folder, lines, beams):
    tokenizer = transformers.MarianTokenizer.from_pretrained(folder)
    model = transformers.MarianMTModel.from_pretrained(folder).eval()
    start = model.config.decoder_start_token_id
    banned = sorted({model.config.pad_token_id, start, tokenizer.convert_tokens_to_ids("<unk>")})
    texts, scores = [], []
    for line in lines:
        inputs = tokenizer([line], return_tensors="pt")
        with torch.no_grad():
            ids = model.generate(**inputs, num_beams=beams, do_sample=False, max_new_tokens=MAX_LENGTH, length_penalty=0.0,
                                 early_stopping=beams > 1, forced_eos_token_id=None, bad_words_ids=[[i] for i in banned])
            target = ids[0, 1:]
            logits = model(**inputs, decoder_input_ids=ids[:, :-1]).logits[0]
        texts.append(tokenizer.decode(target, skip_special_tokens=True, clean_up_tokenization_spaces=False))
        chosen = logits.log_softmax(-1).gather(1, target[:, None])[:, 0]
        scores.append((target.tolist(), chosen.tolist(), model.config.eos_token_id))
    return texts, scores


def compare(program, folder, scratch):
    lines = lines_for(folder)
    (scratch / "lines").write_text("\n".join(lines) + "\n")
    differences = 0
    for beams in (1, 4):
        expected, scores = by_transformers(folder, lines, beams)
        got = fovea(program, "translate", "-m", folder, "--precision", "f32", "--beam", beams, *(["--length-penalty", 0] if beams > 1 else []),
                    "--max-length", MAX_LENGTH, "--max-ratio", 0, scratch / "lines")
        wrong = [(a, b) for a, b in zip(expected, got) if a != b]
        print(f"  beam {beams}: {len(lines) - len(wrong)} of {len(lines)} outputs are equal")
        for a, b in wrong[:3]:
            print(f"    transformers: {a}\n    fovea:        {b}")
        differences += len(wrong) + (len(got) != len(lines))
    # The log-probabilities of greedy targets that have ended and are tokenised as they were generated.
    expected, scores = by_transformers(folder, lines, 1)
    tokenizer = transformers.MarianTokenizer.from_pretrained(folder)
    kept = [(line, text, log_p) for line, text, (ids, log_p, end) in zip(lines, expected, scores)
            if ids[-1] == end and text and tokenizer(text_target=text).input_ids == ids]
    (scratch / "pairs.tsv").write_text("".join(f"{line}\t{text}\n" for line, text, _ in kept))
    most = 0.0
    if kept:
        for line, (_, _, log_p) in zip(fovea(program, "score", "-m", folder, "--precision", "f32", "--json", scratch / "pairs.tsv"), kept):
            of_tokens = json.loads(line)["log_probs"]
            most = max([most] + [abs(a - b) for a, b in zip(of_tokens, log_p)])
    print(f"  log-probabilities of {len(kept)} targets: the largest difference is {most:.2g}")
    return differences + (most > 1e-4)


def main():
    program, folders = sys.argv[1], [pathlib.Path(name) for name in sys.argv[2:]]
    wrong = 0
    with tempfile.TemporaryDirectory() as name:
        scratch = pathlib.Path(name)
        if not folders:
            for configuration, (sample, changes) in CONFIGURATIONS.items():
                folders.append(scratch / configuration)
                folders[-1].mkdir()
                make(folders[-1], sample, changes)
        for folder in folders:
            print(folder.name)
            wrong += compare(program, folder, scratch)
            exported = scratch / f"exported-{folder.name}"
            fovea(program, "export", "--format", "huggingface", "-m", folder, "-o", exported)
            print(exported.name)
            wrong += compare(program, exported, scratch)
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
