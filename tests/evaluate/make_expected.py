#!/usr/bin/env python3
"""Writes data/expected.json: what sacreBLEU itself says about the case files beside it.

A case is NAME.hyp with NAME.ref, or NAME.ref0, NAME.ref1, ... where it has several references. Needs
sacrebleu, of the version that src/evaluate/segment.h names. One record a line, numbers in full:

  tokens  every line by every tokenizer, tokens joined by one space
  bleu    the corpus with one setting, and each sentence by itself with effective order
  chrf    the corpus with one setting, and each sentence by itself
"""
import itertools
import json
import pathlib

import sacrebleu
from sacrebleu.metrics import BLEU, CHRF

DATA = pathlib.Path(__file__).parent / "data"
TOKENIZERS = ["13a", "intl", "zh", "char", "none"]
SMOOTHINGS = [("exp", None), ("floor", None), ("add-k", None), ("none", None)]
MORE_SMOOTHINGS = [("floor", 0.01), ("add-k", 0.5)]
CHRF_SETTINGS = [
    dict(char_order=6, word_order=words, beta=beta, lowercase=low, whitespace=space, eps_smoothing=eps)
    for words, beta, low, space, eps in [
        (0, 2, False, False, False),
        (2, 2, False, False, False),
        (0, 2, True, False, False),
        (2, 2, True, False, False),
        (0, 2, False, True, False),
        (2, 2, False, False, True),
        (1, 1, False, False, False),
        (0, 3, False, False, True),
    ]
]


def read_lines(path: pathlib.Path) -> list[str]:
    with path.open(encoding="utf-8", newline="\n") as file:
        return file.read().removesuffix("\n").split("\n")


def tokens_record(hypotheses, references, tokenizer, lowercase):
    tokenize = BLEU(tokenize=tokenizer).tokenizer

    def tokens(line):
        return " ".join(tokenize((line.lower() if lowercase else line).rstrip()).split())

    return dict(
        tokenizer=tokenizer,
        lowercase=lowercase,
        hypotheses=[tokens(line) for line in hypotheses],
        references=[[tokens(line) for line in lines] for lines in references],
    )


def bleu_record(hypotheses, references, setting):
    bleu = BLEU(force=True, **setting)
    score = bleu.corpus_score(hypotheses, references)
    sentence = BLEU(force=True, effective_order=True, **setting)
    return dict(
        **setting,
        score=score.score,
        counts=score.counts,
        totals=score.totals,
        precisions=score.precisions,
        bp=score.bp,
        sys_len=score.sys_len,
        ref_len=score.ref_len,
        signature=str(bleu.get_signature()),
        line=str(score),
        sentences=[sentence.sentence_score(h, r).score for h, r in zip(hypotheses, zip(*references))],
    )


def chrf_record(hypotheses, references, setting):
    chrf = CHRF(**setting)
    score = chrf.corpus_score(hypotheses, references)
    signature = str(chrf.get_signature())
    return dict(
        **setting,
        score=score.score,
        signature=signature,
        line=str(score),
        sentences=[chrf.sentence_score(h, r).score for h, r in zip(hypotheses, zip(*references))],
    )


records = {"tokens": [], "bleu": [], "chrf": []}
for path in sorted(DATA.glob("*.hyp")):
    hypotheses = read_lines(path)
    references = [read_lines(ref) for ref in sorted(DATA.glob(f"{path.stem}.ref*"))]
    assert references and all(len(lines) == len(hypotheses) for lines in references), path

    def add(kind, record):
        records[kind].append({"case": path.stem, **record})

    for tokenizer, lowercase in itertools.product(TOKENIZERS, [False, True]):
        add("tokens", tokens_record(hypotheses, references, tokenizer, lowercase))
        plain = tokenizer == "13a" and not lowercase
        for method, value in SMOOTHINGS + (MORE_SMOOTHINGS if plain else []):
            setting = dict(tokenize=tokenizer, lowercase=lowercase, smooth_method=method, smooth_value=value)
            add("bleu", bleu_record(hypotheses, references, setting))
    for setting in CHRF_SETTINGS:
        add("chrf", chrf_record(hypotheses, references, setting))

sections = [f'"version": {json.dumps(sacrebleu.__version__)}']
for kind, rows in records.items():
    lines = ",\n".join(json.dumps(row, ensure_ascii=False) for row in rows)
    sections.append(f'"{kind}": [\n{lines}\n]')
(DATA / "expected.json").write_text("{\n" + ",\n".join(sections) + "\n}\n", encoding="utf-8")
print(f"sacreBLEU {sacrebleu.__version__}: " + ", ".join(f"{len(rows)} {kind}" for kind, rows in records.items()))
