"""Writes the files of a folder as a C++ source: gzipped bytes, content type and ETag of each. Without a folder the list
of files is empty.

usage: embed_page.py SOURCE [FOLDER]
"""
import gzip
import hashlib
import pathlib
import re
import sys

TYPES = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".ico": "image/x-icon",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".map": "application/json",
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
    ".webmanifest": "application/manifest+json",
    ".woff2": "font/woff2",
}
# Names with a hash of the contents, as Vite writes them: assets/index-DkR3x_1a.js
HASHED = re.compile(r"^/assets/.*-[A-Za-z0-9_-]{8,}\.\w+$")
PER_LINE = 32


def literal(data: bytes) -> str:
    lines = [data[i : i + PER_LINE] for i in range(0, len(data), PER_LINE)]
    return "\n".join("    " + "".join(f"{byte}," for byte in line) for line in lines)


def main(source: pathlib.Path, folder: pathlib.Path | None) -> None:
    paths = sorted(p for p in folder.rglob("*") if p.is_file()) if folder and folder.is_dir() else []
    arrays, entries = [], []
    for i, path in enumerate(paths):
        data = path.read_bytes()
        packed = gzip.compress(data, 9, mtime=0)
        name = "/" + path.relative_to(folder).as_posix()
        kind = TYPES.get(path.suffix, "application/octet-stream")
        etag = hashlib.sha256(data).hexdigest()[:16]
        arrays.append(f"constexpr unsigned char kFile{i}[] = {{\n{literal(packed)}\n}};")
        entries.append(
            f'    {{"{name}", "{kind}", "\\"{etag}\\"", {str(bool(HASHED.match(name))).lower()},\n'
            f"     {{reinterpret_cast<const char*>(kFile{i}), {len(packed)}}}}},"
        )
    body = "\n".join(arrays)
    table = "\n".join(entries)
    listed = (
        f"  static const PageFile files[] = {{\n{table}\n  }};\n  return files;" if entries else "  return {};"
    )
    text = (
        '// Made by tools/embed_page.py.\n#include "fovea/serve/page.h"\n\nnamespace fovea::app {\n\n'
        f"namespace {{\n{body}\n}}  // namespace\n\n"
        f"std::span<const PageFile> page_files() {{\n{listed}\n}}\n\n}}  // namespace fovea::app\n"
    )
    if not source.exists() or source.read_text() != text:
        source.write_text(text)
    else:
        source.touch()


main(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]) if len(sys.argv) > 2 and sys.argv[2] else None)
