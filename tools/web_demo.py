#!/usr/bin/env python3
"""Puts the page without a server into one folder: the page, the engine and models, for any host of static files.

usage: web_demo.py ENGINE FOLDER MODEL...

ENGINE is the folder with fovea.js and fovea.wasm that the preset `web` builds, MODEL a model folder. The folder gets
its name only when it is complete.
"""
import json
import pathlib
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
MODEL_FILES = ("config.json", "about.json", "model.safetensors", "source.spm", "source.vocab", "target.spm", "target.vocab")


def build_page(folder: pathlib.Path) -> None:
    install = ["npm", "install", "--no-audit", "--no-fund", "--no-save", "--silent"]
    build = ["npx", "vite", "build", "--mode", "static", "--outDir", str(folder), "--emptyOutDir", "--logLevel", "warn"]
    for command in (install, ["npx", "tsc", "--noEmit"], build):
        subprocess.run(command, cwd=ROOT / "web", check=True)


def copy_model(model: pathlib.Path, to: pathlib.Path) -> dict:
    if not (model / "config.json").exists():
        sys.exit(f"{model}: expected a model folder, got one without config.json")
    to.mkdir(parents=True)
    for name in MODEL_FILES:
        if (model / name).exists():
            shutil.copyfile(model / name, to / name)
    return {"name": model.name, "files": [{"name": f.name, "bytes": f.stat().st_size} for f in sorted(to.iterdir())]}


def main(engine: pathlib.Path, folder: pathlib.Path, models: list[pathlib.Path]) -> None:
    made = folder.with_name(folder.name + ".part")
    build_page(made.resolve())
    (made / "engine").mkdir()
    for name in ("fovea.js", "fovea.wasm"):
        shutil.copyfile(engine / name, made / "engine" / name)
    contents = {
        "engine": (made / "engine" / "fovea.wasm").stat().st_size,
        "models": [copy_model(model, made / "models" / model.name) for model in models],
    }
    (made / "models" / "models.json").write_text(json.dumps(contents, indent=1) + "\n")
    shutil.rmtree(folder, ignore_errors=True)
    made.rename(folder)
    size = sum(f.stat().st_size for f in folder.rglob("*") if f.is_file())
    print(f"{folder}: {size / 1e6:.1f} MB for a host of static files; to look at it:")
    print(f"  python3 -m http.server --directory {folder} 8000")


if len(sys.argv) < 4:
    sys.exit(__doc__)
main(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), [pathlib.Path(m) for m in sys.argv[3:]])
