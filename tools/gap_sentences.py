#!/usr/bin/env python3
"""Pairs for learning to summarise from documents alone (gap sentences, PEGASUS: Zhang et al. 2020).

    tools/gap_sentences.py documents.txt gaps.source gaps.target [--summaries summaries.txt] [--most 2]

Of each document, one a line, the sentences that share most words with the rest are taken out, one at a time: the
document without it is a source, the sentence its target. With --summaries, the documents and their summaries are
written, too. Train on these pairs first, then on the summaries alone with training.pretrained.
"""
import argparse
import itertools
import re

WORD = re.compile(r"\w+")
SENTENCE_END = re.compile(r"(?<=[.!?]) +(?=[A-Z\"'(])")
FEWEST_SENTENCES, FEWEST_WORDS, MOST_WORDS = 3, 5, 45


def central_sentences(sentences, most):
    bags = [set(WORD.findall(sentence.lower())) for sentence in sentences]
    scored = []
    for i, sentence in enumerate(sentences):
        if FEWEST_WORDS <= len(sentence.split()) <= MOST_WORDS:
            rest = set().union(*bags[:i], *bags[i + 1:])
            shared = len(bags[i] & rest)
            if shared:
                scored.append((shared / (len(bags[i]) + 10), i))  # 10: a short sentence is not central by its shortness
    return [i for _, i in sorted(scored, reverse=True)[:most]]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("documents")
    parser.add_argument("source")
    parser.add_argument("target")
    parser.add_argument("--summaries")
    parser.add_argument("--most", type=int, default=2, help="sentences taken out of a document (default: 2)")
    options = parser.parse_args()
    summaries = open(options.summaries, encoding="utf-8") if options.summaries else itertools.repeat(None)
    with open(options.documents, encoding="utf-8") as documents, \
         open(options.source, "w", encoding="utf-8") as source, open(options.target, "w", encoding="utf-8") as target:
        for document, summary in zip(documents, summaries):
            if summary is not None:
                source.write(document.strip() + "\n")
                target.write(summary.strip() + "\n")
            sentences = SENTENCE_END.split(document.strip())
            if len(sentences) < FEWEST_SENTENCES:
                continue
            for i in central_sentences(sentences, options.most):
                source.write(" ".join(sentences[:i] + sentences[i + 1:]) + "\n")
                target.write(sentences[i] + "\n")


if __name__ == "__main__":
    main()
