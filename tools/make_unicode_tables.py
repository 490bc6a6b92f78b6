#!/usr/bin/env python3
"""Writes src/text/unicode_tables.h: general categories and lower case, as sorted ranges.

Categories are taken from the `regex` module and lower case from str.lower(), as sacreBLEU does. Run it from the
repository root; it needs the `regex` module.
"""
import pathlib
import sys
import unicodedata

import regex

EVERY = range(sys.maxunicode + 1)
HEAD = """\
// Unicode as sorted ranges. Written by tools/make_unicode_tables.py with regex {regex} and Unicode {unicode}
// for lower case; do not edit.
#pragma once

#include <cstdint>

namespace fovea::unicode {{

struct Range {{
  char32_t first, last;
}};

// Every `step`-th code point from first to last has the lower case `code point + shift`.
struct CaseRange {{
  char32_t first, last;
  int32_t step, shift;
}};
"""


def category_ranges(letter: str) -> list[tuple[int, int]]:
    ranges = []
    matches = regex.compile(rf"\p{{{letter}}}").match
    for code in (c for c in EVERY if matches(chr(c))):
        if ranges and ranges[-1][1] == code - 1:
            ranges[-1] = (ranges[-1][0], code)
        else:
            ranges.append((code, code))
    return ranges


def case_ranges() -> list[tuple[int, int, int, int]]:
    # U+0130, whose lower case has two code points, is handled by the code.
    shifts = {c: ord(low) - c for c in EVERY if len(low := chr(c).lower()) == 1 and low != chr(c)}
    ranges = []
    while shifts:
        first = min(shifts)
        runs = []
        for step in (1, 2):
            last = first
            while shifts.get(last + step) == shifts[first] and (step == 1 or last + 1 not in shifts):
                last += step
            runs.append((first, last, step, shifts[first]))
        best = max(runs, key=lambda run: (run[1] - run[0]) // run[2])
        for code in range(best[0], best[1] + 1, best[2]):
            del shifts[code]
        ranges.append(best)
    return ranges


def table(kind: str, name: str, rows: list[tuple]) -> str:
    lines, line = [], ""
    for row in rows:
        entry = "{" + ", ".join([f"0x{row[0]:X}", f"0x{row[1]:X}", *map(str, row[2:])]) + "},"
        if len(line) + len(entry) > 117:
            lines.append(line)
            line = ""
        line += (" " if line else "") + entry
    body = "\n    ".join([*lines, line])
    return f"\n// clang-format off\ninline constexpr {kind} {name}[] = {{\n    {body}\n}};\n// clang-format on\n"


text = HEAD.format(regex=regex.__version__, unicode=unicodedata.unidata_version)
text += table("Range", "kPunctuation", category_ranges("P"))
text += table("Range", "kSymbols", category_ranges("S"))
text += table("Range", "kNumbers", category_ranges("N"))
text += table("CaseRange", "kLower", case_ranges())
text += "\n}  // namespace fovea::unicode\n"
pathlib.Path("src/text/unicode_tables.h").write_text(text)
