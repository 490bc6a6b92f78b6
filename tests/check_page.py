"""The tests of the page: its style, its units, then in a browser against the mock and against the program; and the page
without a server, where it is built (make web-demo).

usage: check_page.py style|unit|mock|server|static WEB [FOVEA]

`style` runs the linter and the formatter's check, over the script and style sheets of the HTML views, too. `mock` also
opens HTML views that the program writes. Exits with 77, and says why, where something that a test needs is not there.
"""
import functools
import http.server
import json
import os
import pathlib
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import threading
import urllib.request
import zlib

SKIPPED = 77
NODE = 18
BROWSERS = ("chromium", "chromium-browser", "google-chrome")

# Models that learn for seconds: what they say is of no use, but they say it as any other does.
RECIPE = """
[data]
generator = "dates"
generated = 2000
generated_valid = 20
[source_vocabulary]
kind = "character"
[target_vocabulary]
kind = "character"
[model]
embedding = 16
hidden = 32
[batch]
tokens = 1024
[training]
steps = 60
learning_rate = 1e-2
"""
MODELS = {
    "dates": ["model.architecture=bahdanau"],
    "dates-transformer": [
        "model.architecture=transformer",
        "model.attention.score=scaled-dot",
        "model.attention.heads=2",
        "model.self_attention.heads=2",
        "model.hidden=16",
        "model.encoder_layers=2",
        "model.decoder_layers=2",
    ],
}

# A captioner of squares that the test draws.
PICTURES = """
task = "caption"
[data]
train = "{0}/captions.tsv"
valid = "{0}/captions.tsv"
images = "{0}"
[target_vocabulary]
kind = "word"
[vision]
network = "resnet-small"
size = 32
frozen = false
depth = 8
[model]
architecture = "bahdanau"
embedding = 16
hidden = 16
[batch]
sentences = 12
[training]
steps = 60
learning_rate = 1e-2
"""


def png(colour: int, side: int = 32) -> bytes:
    """A square of one colour on a dark ground."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    inside = range(side // 4, 3 * side // 4)
    bright = bytes(250 if c == colour else 20 for c in range(3))
    rows = b"".join(
        b"\0" + b"".join(bright if x in inside and y in inside else b"\x14" * 3 for x in range(side)) for y in range(side)
    )
    head = struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def missing(part: str, web: pathlib.Path) -> str:
    """Why the tests cannot run here; nothing if they can."""
    node = shutil.which("node")
    if node is None or shutil.which("npm") is None:
        return "there is no Node and npm"
    version = subprocess.run([node, "--version"], stdout=subprocess.PIPE, text=True, check=True).stdout.strip()
    if int(version.lstrip("v").split(".")[0]) < NODE:
        return f"expected Node {NODE} or later, got {version}"
    if not all((web / "node_modules" / package).exists() for package in ("playwright-core", "eslint", "prettier")):
        return "the page's packages are not installed (npm install in web/)"
    if part in ("mock", "server", "static") and not os.environ.get("CHROMIUM") and not any(map(shutil.which, BROWSERS)):
        return "there is no Chromium"
    if part == "mock" and not (web / "dist" / "index.html").exists():
        return "the page is not built (npm run build in web/)"
    if part == "static" and not (web.parent / "build" / "web-demo" / "index.html").exists():
        return "the page without a server is not built (make web-demo)"
    return ""


def npm(script: str, web: pathlib.Path, **environment: str) -> int:
    return subprocess.run(["npm", "run", "--silent", script], cwd=web, env={**os.environ, **environment}).returncode


def train(fovea: str, folder: pathlib.Path) -> list[str]:
    recipe = folder / "recipe.toml"
    recipe.write_text(RECIPE)
    for name, settings in MODELS.items():
        chosen = [f"folder={folder / name}", *settings]
        flags = [word for setting in chosen for word in ("--set", setting)]
        subprocess.run([fovea, "train", str(recipe), *flags], stdout=subprocess.DEVNULL, check=True)
    return [str(folder / name) for name in MODELS] + [train_captioner(fovea, folder)]


def train_captioner(fovea: str, folder: pathlib.Path) -> str:
    colours = ("red", "green", "blue")
    for i in range(len(colours)):
        (folder / f"{i}.png").write_bytes(png(i))
    (folder / "captions.tsv").write_text("".join(f"{i}.png\ta {c} square\n" for i, c in enumerate(colours)))
    recipe = folder / "pictures.toml"
    recipe.write_text(PICTURES.format(folder))
    model = str(folder / "pictures")
    subprocess.run([fovea, "train", str(recipe), "--set", f"folder={model}"], stdout=subprocess.DEVNULL, check=True)
    return model


def against_server(web: pathlib.Path, fovea: str) -> int:
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        models = train(fovea, folder)
        record = str(folder / "record.jsonl")
        view = [fovea, "view", "--model", models[1], "--beam", "2", "--nbest", "2", "--format", "json", "--output", record]
        subprocess.run([*view, "3 june 2021"], check=True)
        flags = ["--port", "0", "--log", "off"]
        server = subprocess.Popen([fovea, "serve", "--model", *models, *flags], stdout=subprocess.PIPE, text=True)
        try:
            said = re.search(r"http://\S+", server.stdout.readline())
            if said is None:
                print("fovea serve did not say where it listens")
                return 1
            with urllib.request.urlopen(said.group()) as page:
                if b'id="page"' not in page.read():
                    print("skipped: the program was built without its page")
                    return SKIPPED
            failed = npm("test:browser", web, FOVEA_URL=said.group(), FOVEA_TEXT="12 may 1999", FOVEA_RECORD=record)
        finally:
            server.send_signal(signal.SIGTERM)
            status = server.wait()
        if status != 0:
            print(f"fovea serve ended with {status}")
        return failed or status


# What the program writes must be what the page writes: one search in the same precision.
SENTENCES = ("A man is riding a bicycle in the park.", "Where is the station?", "Two dogs play in the snow.")


class QuietFiles(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


def static_page(web: pathlib.Path, fovea: str) -> int:
    folder = web.parent / "build" / "web-demo"
    translate = [fovea, "translate", "--model", str(folder / "models" / "en-zh"), "--threads", "1"]
    text = "".join(f"{s}\n" for s in SENTENCES)
    said = subprocess.run(translate, input=text, stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines()
    pairs = json.dumps(list(zip(SENTENCES, said)))
    host = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(QuietFiles, directory=str(folder)))
    threading.Thread(target=host.serve_forever, daemon=True).start()
    try:
        return npm("test:static", web, FOVEA_URL=f"http://127.0.0.1:{host.server_port}/", FOVEA_PAIRS=pairs)
    finally:
        host.shutdown()


def main(part: str, web: pathlib.Path, fovea: str = "") -> int:
    why = missing(part, web)
    if why:
        print(f"skipped: {why}")
        return SKIPPED
    if part == "style":
        return npm("lint", web) or npm("format:check", web)
    if part == "unit":
        return npm("test:unit", web)
    if part == "mock":
        return npm("size", web) or npm("test:browser", web, FOVEA_PROGRAM=fovea)
    if part == "static":
        return static_page(web, fovea)
    return against_server(web, fovea)


sys.exit(main(sys.argv[1], pathlib.Path(sys.argv[2]), *sys.argv[3:]))
