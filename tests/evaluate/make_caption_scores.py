#!/usr/bin/env python3
"""Writes captions/expected.json: what the usual caption evaluation scripts say about the case files beside it.

A case is NAME.tsv, the references, with NAME.hyp.tsv. Needs the package pycocoevalcap, and Java for its tokeniser.
Chinese is given to it character by character, without punctuation. Numbers are in full and not scaled: BLEU and ROUGE-L
up to 1, CIDEr up to 10. "documents" scores the case with the document frequencies of another one.
"""
import collections
import contextlib
import io
import json
import pathlib
import unicodedata

from pycocoevalcap.bleu.bleu import Bleu
from pycocoevalcap.cider.cider_scorer import CiderScorer
from pycocoevalcap.rouge.rouge import Rouge
from pycocoevalcap.tokenizer.ptbtokenizer import PTBTokenizer

DATA = pathlib.Path(__file__).parent / "captions"


def read(path):
    captions = collections.OrderedDict()
    for line in path.read_text(encoding="utf-8").splitlines():
        image, caption = line.split("\t")
        captions.setdefault(image, []).append(caption)
    return captions


def is_chinese(captions):
    return any("\u4e00" <= c <= "\u9fff" for lines in captions.values() for line in lines for c in line)


def tokens(captions):
    if is_chinese(captions):
        return {
            image: [" ".join(c for c in line if not unicodedata.category(c).startswith(("P", "Z"))) for line in lines]
            for image, lines in captions.items()
        }
    return PTBTokenizer().tokenize({i: [{"caption": line} for line in lines] for i, lines in captions.items()})


class ImagesOf(list):
    """References that count as those of so many images, from which CIDEr computes the idf of an n-gram."""

    def __init__(self, references, images):
        super().__init__(references)
        self.images = images

    def __len__(self):
        return self.images


def cider(hypotheses, references, documents):
    scorer = CiderScorer()
    for lines in documents.values():
        scorer += ("", lines)
    scorer.compute_doc_freq()
    scorer.crefs, scorer.ctest = [], []
    for image, lines in references.items():
        scorer += (hypotheses[image][0], lines)
    scorer.crefs = ImagesOf(scorer.crefs, len(documents))
    return [float(score) for score in scorer.compute_cider()]


def record(name, documents=None):
    references, hypotheses = tokens(read(DATA / f"{name}.tsv")), tokens(read(DATA / f"{name}.hyp.tsv"))
    with contextlib.redirect_stdout(io.StringIO()):
        bleu, _ = Bleu(4).compute_score(references, hypotheses)
    rouge, rouges = Rouge().compute_score(references, hypotheses)
    ciders = cider(hypotheses, references, tokens(read(DATA / f"{documents or name}.tsv")))
    return dict(
        case=name,
        documents=documents or name,
        bleu=[float(b) for b in bleu],
        rouge_l=float(rouge),
        cider_d=sum(ciders) / len(ciders),
        ciders=ciders,
        tokens=[lines[0] for lines in hypotheses.values()],
    )


names = sorted(p.name.removesuffix(".hyp.tsv") for p in DATA.glob("*.hyp.tsv"))
records = [record(name) for name in names] + [record("odd", "english"), record("identical", "one-reference")]
lines = ",\n".join(json.dumps(r, ensure_ascii=False) for r in records)
(DATA / "expected.json").write_text(f"[\n{lines}\n]\n", encoding="utf-8")
