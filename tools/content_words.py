#!/usr/bin/env python3
"""Pairs for learning to write sentences around given words, from English text alone.

    tools/content_words.py sentences.txt words.source words.target

The source has the names, numbers and most other content words of a sentence, half of the time in another order and the
latter often without their endings, written like triples (`Rome | capital | Italy <triple> ...`); the target is the
sentence. A model that has learned this copies names and writes the words between them, also for facts of a kind that
recipes/webnlg.toml is not trained on: see training.pretrained.
"""
import random
import re
import sys

STOP = set("""a an the of in on at to for from by with and or but as is are was were be been being has have had do does
did will would can could may might shall should must that which who whom whose this these those it its he she his her
they their them him we us our you your i my me not no nor so than then there here when where what how if while because
until after before between into through during about against over under again further once all any both each few more
most other some such only own same too very also one""".split())
TOKEN = re.compile(r"\w+(?:[-'.]\w+)*|[^\w\s]")
ENDINGS = ("ing", "ed", "es", "s", "ly")
DROPPED, CUT, SHUFFLED = 0.25, 0.5, 0.5  # shares of content words that are no names; of sentences


def without_ending(word):
    for ending in ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word[:-len(ending)]
    return word


def is_name(word):
    return word[0].isupper() or word[0].isdigit()


def phrases_of(words):
    """Runs of content words; names and other words are separate."""
    phrases, now = [], []
    for i, word in enumerate(words):
        content = word[0].isalnum() and (word.lower() not in STOP or (is_name(word) and i > 0))
        if now and (not content or now[-1][0].isupper() != word[0].isupper()):
            phrases.append(now)
            now = []
        if content:
            now.append(word)
    return phrases + [now] if now else phrases


def main():
    text, source_path, target_path = sys.argv[1:]
    random.seed(1)
    with open(text, encoding="utf-8") as lines, open(source_path, "w", encoding="utf-8") as source, \
         open(target_path, "w", encoding="utf-8") as target:
        for line in lines:
            words = TOKEN.findall(line)
            if not 6 <= len(words) <= 45:
                continue
            kept = []
            for phrase in phrases_of(words):
                if is_name(phrase[0]):
                    kept.append(" ".join(phrase))
                elif random.random() >= DROPPED:
                    kept.append(" ".join(without_ending(w) if random.random() < CUT else w for w in phrase))
            if len(kept) < 2:
                continue
            if random.random() < SHUFFLED:
                random.shuffle(kept)
            joined = kept[0]
            for i, phrase in enumerate(kept[1:], 1):
                joined += (" <triple> " if i % 3 == 0 else " | ") + phrase
            source.write(joined + "\n")
            target.write(line.strip() + "\n")


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    main()
