#!/usr/bin/env python3
"""Writes the attention record of a caption for a picture that this script draws. The attention is drawn, too: it shows
what the views of pictures look like, not what a model looked at.

    tools/drawn_record.py > scene.json
    fovea view scene.json -o scene.svg
"""
import base64
import json
import math
import struct
import sys

ROWS = COLUMNS = 14


# ---- a baseline JPEG (ITU T.81) of 8 x 8 blocks in YCbCr without subsampling, with the Huffman tables of its annex K

ZIGZAG = sorted(range(64), key=lambda i: (i // 8 + i % 8, i // 8 if (i // 8 + i % 8) % 2 else i % 8))
LUMINANCE = [16, 11, 10, 16, 24, 40, 51, 61, 12, 12, 14, 19, 26, 58, 60, 55, 14, 13, 16, 24, 40, 57, 69, 56, 14, 17, 22, 29, 51, 87, 80, 62,
             18, 22, 37, 56, 68, 109, 103, 77, 24, 35, 55, 64, 81, 104, 113, 92, 49, 64, 78, 87, 103, 121, 120, 101, 72, 92, 95, 98, 112, 100, 103, 99]
QUANTISERS = [max(1, q // 4) for q in LUMINANCE]
DC_COUNTS, DC_VALUES = bytes([0, 1, 5, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0]), bytes(range(12))
AC_COUNTS = bytes([0, 2, 1, 3, 3, 2, 4, 3, 5, 5, 4, 4, 0, 0, 1, 0x7D])
AC_VALUES = bytes.fromhex(
    "01020300041105122131410613516107227114328191a1082342b1c11552d1f02433627282090a161718191a25262728292a3435363738393a434445464748494a"
    "535455565758595a636465666768696a737475767778797a838485868788898a92939495969798999aa2a3a4a5a6a7a8a9aab2b3b4b5b6b7b8b9bac2c3c4c5c6c7"
    "c8c9cad2d3d4d5d6d7d8d9dae1e2e3e4e5e6e7e8e9eaf1f2f3f4f5f6f7f8f9fa")
COSINES = [[(math.sqrt(0.5) if u == 0 else 1) / 2 * math.cos((2 * x + 1) * u * math.pi / 16) for x in range(8)] for u in range(8)]


def codes(counts, values):
    table, code, at = {}, 0, 0
    for length, count in enumerate(counts, 1):
        for value in values[at:at + count]:
            table[value] = (code, length)
            code += 1
        at, code = at + count, code << 1
    return table


class Bits:
    def __init__(self):
        self.out, self.buffer, self.count = bytearray(), 0, 0

    def put(self, value, length):
        self.buffer, self.count = self.buffer << length | value, self.count + length
        while self.count >= 8:
            self.count -= 8
            byte = self.buffer >> self.count & 255
            self.out += bytes([byte, 0]) if byte == 255 else bytes([byte])
        self.buffer &= (1 << self.count) - 1


def transformed(block):
    rows = [[sum(c * v for c, v in zip(basis, line)) for basis in COSINES] for line in block]
    return [sum(COSINES[v][y] * rows[y][u] for y in range(8)) for v in range(8) for u in range(8)]


def jpeg(width, height, pixels):
    """pixels: rows of (red, green, blue), 0 to 255."""
    dc, ac, bits = codes(DC_COUNTS, DC_VALUES), codes(AC_COUNTS, AC_VALUES), Bits()

    def amplitude(value):
        size = abs(value).bit_length()
        return size, value if value >= 0 else value + (1 << size) - 1

    planes = [[[0.299 * r + 0.587 * g + 0.114 * b - 128 for r, g, b in line] for line in pixels],
              [[-0.1687 * r - 0.3313 * g + 0.5 * b for r, g, b in line] for line in pixels],
              [[0.5 * r - 0.4187 * g - 0.0813 * b for r, g, b in line] for line in pixels]]
    before = [0, 0, 0]
    for top in range(0, height, 8):
        for left in range(0, width, 8):
            for p, plane in enumerate(planes):
                block = [[plane[min(top + y, height - 1)][min(left + x, width - 1)] for x in range(8)] for y in range(8)]
                found = transformed(block)
                values = [round(found[i] / QUANTISERS[i]) for i in ZIGZAG]
                size, extra = amplitude(values[0] - before[p])
                before[p] = values[0]
                bits.put(*dc[size])
                bits.put(extra, size)
                zeros, last = 0, max((i for i in range(1, 64) if values[i]), default=0)
                for value in values[1:last + 1]:
                    if value == 0:
                        zeros += 1
                        continue
                    for _ in range(zeros // 16):
                        bits.put(*ac[0xF0])
                    size, extra = amplitude(value)
                    bits.put(*ac[zeros % 16 << 4 | size])
                    bits.put(extra, size)
                    zeros = 0
                if last < 63:
                    bits.put(*ac[0])
    bits.put(0x7F, 7)

    def segment(marker, content):
        return bytes([0xFF, marker]) + struct.pack(">H", len(content) + 2) + content

    parts = [b"\xFF\xD8", segment(0xE0, b"JFIF\0\1\1\0\0\1\0\1\0\0"), segment(0xDB, bytes([0, *(QUANTISERS[i] for i in ZIGZAG)])),
             segment(0xC0, struct.pack(">BHHB", 8, height, width, 3) + b"".join(bytes([i, 0x11, 0]) for i in (1, 2, 3))),
             segment(0xC4, b"\x00" + DC_COUNTS + DC_VALUES), segment(0xC4, b"\x10" + AC_COUNTS + AC_VALUES),
             segment(0xDA, b"\3\1\0\2\0\3\0\0\x3F\0"), bytes(bits.out), b"\xFF\xD9"]
    return b"".join(parts)


# ---- the scene: shapes later in the list are in front. x and y are from 0 to 1, seen from the upper left corner.

def disc(x, y, r):
    return lambda u, v, aspect: ((u - x) * aspect) ** 2 + (v - y) ** 2 < r * r


def box(left, top, right, bottom):
    return lambda u, v, aspect: left < u < right and top < v < bottom


def roof(left, right, top, bottom):
    return lambda u, v, aspect: top < v < bottom and abs(u - (left + right) / 2) < (right - left) / 2 * (v - top) / (bottom - top)


def hills(u, v, aspect):
    return v > 0.62 + 0.05 * math.sin(5 * u + 0.4)


SHAPES = [(disc(0.80, 0.20, 0.11), (255, 214, 74)), (hills, (118, 168, 92)), (box(0.14, 0.46, 0.38, 0.76), (196, 74, 58)),
          (roof(0.10, 0.42, 0.28, 0.46), (92, 62, 56)), (box(0.23, 0.58, 0.29, 0.76), (74, 48, 40)), (box(0.31, 0.53, 0.36, 0.61), (246, 232, 170)),
          (box(0.595, 0.52, 0.625, 0.80), (104, 76, 52)), (disc(0.61, 0.42, 0.15), (46, 122, 66)), (disc(0.55, 0.49, 0.10), (52, 132, 72)),
          (disc(0.67, 0.49, 0.10), (42, 112, 62)), (disc(0.84, 0.84, 0.055), (58, 104, 196))]
# A word, its log-probability, the places it looks at as (x, y, width, share), and the share of no place.
WORDS = [("a", -0.4, [(0.3, 0.6, 0.3, 1)], 0.55), ("red", -0.5, [(0.26, 0.58, 0.10, 1)], 0.06), ("house", -0.1, [(0.26, 0.48, 0.14, 1)], 0.04),
         ("and", -0.6, [(0.45, 0.5, 0.3, 1)], 0.62), ("a", -0.2, [(0.6, 0.5, 0.3, 1)], 0.5), ("green", -0.9, [(0.61, 0.44, 0.11, 1)], 0.07),
         ("tree", -0.1, [(0.61, 0.46, 0.13, 0.9), (0.61, 0.7, 0.06, 0.1)], 0.03), ("under", -0.8, [(0.61, 0.25, 0.2, 0.6), (0.26, 0.3, 0.2, 0.4)], 0.4),
         ("the", -0.2, [(0.75, 0.25, 0.3, 1)], 0.7), ("sun", -0.3, [(0.8, 0.2, 0.1, 1)], 0.02)]


def colour_at(u, v, aspect):
    found = (150 - 40 * v + 60 * v, 196 + 30 * v, 236)
    for inside, colour in SHAPES:
        if inside(u, v, aspect):
            found = colour
    return found


def draw(width, height):
    aspect, half = width / height, (0.25, 0.75)

    def pixel(x, y):
        samples = [colour_at((x + a) / width, (y + b) / height, aspect) for a in half for b in half]
        return tuple(sum(s[i] for s in samples) / 4 for i in range(3))

    return [[pixel(x, y) for x in range(width)] for y in range(height)]


def weights_of(places, no_place, aspect):
    cells = []
    for row in range(ROWS):
        for column in range(COLUMNS):
            u, v = (column + 0.5) / COLUMNS, (row + 0.5) / ROWS
            cells.append(1e-4 + sum(share / wide ** 2 * math.exp(-(((u - x) * aspect) ** 2 + (v - y) ** 2) / (2 * wide ** 2)) for x, y, wide, share in places))
    total = sum(cells)
    return [round(c / total * (1 - no_place), 6) for c in cells] + [no_place]


def record(width=480, height=320):
    tokens, text, steps, rows = [], "", [], []
    for word, log_probability, places, no_place in [*WORDS, ("", -0.1, [(0.5, 0.5, 0.4, 1)], 0.8)]:
        text += " " if text and word else ""
        tokens.append({"text": word or "</s>", "begin": len(text), "end": len(text) + len(word), "starts_word": True, **({} if word else {"mark": True})})
        text += word
        steps.append({"log_probability": log_probability, "alternatives": []})
        rows.append(weights_of(places, no_place, width / height))
    total = sum(step["log_probability"] for step in steps)
    data = "data:image/jpeg;base64," + base64.b64encode(jpeg(width, height, draw(width, height))).decode()
    return {"fovea_record": 1, "task": "caption", "line": 1, "rank": 1, "architecture": "drawn by hand", "search": "none",
            "source": {"text": "", "tokens": []}, "target": {"text": text, "tokens": tokens}, "steps": steps, "score": total, "log_probability": total,
            "ended": True, "cut": False, "image": {"name": "scene.jpg", "width": width, "height": height, "rows": ROWS, "columns": COLUMNS, "data": data},
            "attentions": [{"kind": "cross", "mechanism": "drawn", "scope": "global", "selection": "soft", "sentinel": True, "weights": [[rows]]}]}


if __name__ == "__main__":
    json.dump(record(), sys.stdout)
    print()
