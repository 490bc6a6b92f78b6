#!/usr/bin/env python3
"""check_card.py ROOT: bench/card runs both sides in turns and prints medians over the rounds. Both sides are replaced by
scripts that print known figures. Where this Python has PyTorch, its programs are also run at tiny sizes on the host."""

import json
import os
import py_compile
import subprocess
import sys
import tempfile

PEER = """
import json, sys
path = sys.argv[sys.argv.index("--json") + 1]
json.dump({"toy": {"step_ms": 30}}, open(path, "w"))
"""
OURS = """#!/bin/sh
# Counts its calls: 1, 2 and 9 ms; the ratio is there only if PyTorch's figures were given.
echo run >>{log}
ms=$(sed -n "$(wc -l <{log})p" {times})
case " $* " in *" --peers "*) ratio=$((30 / ms)) ;; *) ratio=0 ;; esac
while [ "$1" != --json ]; do shift; done
echo "{{\\"tables\\": {{\\"steps\\": [{{\\"model\\": \\"toy\\", \\"step ms\\": $ms, \\"ratio\\": $ratio}}], \\"empty\\": []}}}}" >"$2"
"""


def expect(condition, what):
    if not condition:
        sys.exit(f"check_card: expected {what}")


def run_card(root, folder, *flags):
    log, times, ours = (os.path.join(folder, name) for name in ("log", "times", "cuda"))
    if os.path.exists(log):
        os.remove(log)
    with open(times, "w") as file:
        file.write("1\n2\n9\n")
    with open(ours, "w") as file:
        file.write(OURS.format(log=log, times=times))
    os.chmod(ours, 0o755)
    result = os.path.join(folder, "result.json")
    command = [sys.executable, os.path.join(root, "bench", "card"), "--cuda", ours, "--json", result, *flags]
    run = subprocess.run(command, capture_output=True, text=True)
    expect(run.returncode == 0, f"bench/card to succeed, got {run.stdout}{run.stderr}")
    with open(result) as file:
        return json.load(file), run.stdout


def check_programs(root):
    """All programs compile; with PyTorch 2 they run."""
    peers = os.path.join(root, "bench", "peers")
    with tempfile.TemporaryDirectory() as folder:
        for name in sorted(os.listdir(peers)):
            if name.endswith(".py"):
                py_compile.compile(os.path.join(peers, name), os.path.join(folder, name + "c"), doraise=True)
        for name in ("card_attention.py", "card_training.py", "card_decoding.py"):
            figures = os.path.join(folder, "figures.json")
            run = subprocess.run([sys.executable, os.path.join(peers, name), "--device", "cpu", "--tiny", "--json", figures],
                                 capture_output=True, text=True, env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"})
            if "no PyTorch" in run.stdout:
                expect(run.returncode == 77, f"status 77 without PyTorch, got {run.returncode}")
                continue
            expect(run.returncode == 0 and os.path.exists(figures), f"{name} to measure, got {run.stdout}{run.stderr}")


def main():
    root = sys.argv[1]
    check_programs(root)
    with tempfile.TemporaryDirectory() as folder:
        python = os.path.join(folder, "python")
        with open(python, "w") as file:
            file.write(f"#!/bin/sh\nexec {sys.executable} {folder}/peer.py \"$@\"\n")
        os.chmod(python, 0o755)
        with open(os.path.join(folder, "peer.py"), "w") as file:
            file.write(PEER)
        tables, text = run_card(root, folder, "--parts", "train", "--rounds", "3", "--python", python)
        expect(tables == {"steps": [{"model": "toy", "step ms": 2, "ratio": 15, "rounds differ": "400.0%"}]},
               f"medians of three rounds, got {tables}")
        lines = [line for line in text.splitlines() if line.startswith("$ ")]
        expect([line.split()[1] == python for line in lines] == [True, False] * 3, f"both sides in turns, got {lines}")
        tables, _ = run_card(root, folder, "--parts", "train", "--rounds", "1", "--alone")
        expect(tables["steps"][0]["ratio"] == 0, "no figures of PyTorch with --alone")


main()
