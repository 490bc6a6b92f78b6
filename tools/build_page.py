"""Builds web/dist with npm. If that fails, the program is built without the page; with --strict the build fails.

usage: build_page.py WEB NPM STAMP [--strict]
"""
import pathlib
import shutil
import subprocess
import sys


def main(web: pathlib.Path, npm: str, stamp: pathlib.Path, strict: bool) -> int:
    for command in (["install", "--no-audit", "--no-fund", "--no-save"], ["run", "build"]):
        done = subprocess.run([npm, *command], cwd=web, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if done.returncode != 0:
            print(done.stdout[-4000:])
            print(f"npm {command[0]} failed in {web}", "" if strict else "; the program is built without its page")
            shutil.rmtree(web / "dist", ignore_errors=True)
            if strict:
                return 1
            break
    stamp.touch()
    return 0


sys.exit(main(pathlib.Path(sys.argv[1]), sys.argv[2], pathlib.Path(sys.argv[3]), "--strict" in sys.argv))
