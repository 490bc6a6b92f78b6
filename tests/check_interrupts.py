#!/usr/bin/env python3
"""Interrupts training at random moments: check_interrupts.py FOVEA [RUNS].

Each run resumes the one before, is interrupted by SIGINT, SIGTERM or SIGHUP, and must exit with status 130 and leave a
checkpoint of a later step, which the next run reads. A signal handler on a computing thread would sooner or later
write its frame over live memory (see base/signals.h), so it takes many runs to find one: FOVEA_INTERRUPTS is their
number, 20 by default."""
import json
import os
import pathlib
import random
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time

DATA = """
report_every = 1
[data]
generator = "dates"
generated = 2000
generated_valid = 50
[source_vocabulary]
kind = "character"
[target_vocabulary]
kind = "character"
[batch]
tokens = 2048
[training]
epochs = 1000000
[validation]
every = 1000000
"""
MODELS = {
    "bahdanau": '[model]\narchitecture = "bahdanau"\nembedding = 48\nhidden = 64\n',
    "transformer": '[model]\narchitecture = "transformer"\nhidden = 64\nfeed_forward = 128\n'
                   'encoder_layers = 1\ndecoder_layers = 1\n',
}
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
INTERRUPTED = 130


def saved_step(folder):
    """The step of the checkpoint in a run's folder; 0 without one."""
    path = folder / "checkpoint.safetensors"
    if not path.exists():
        return 0
    with path.open("rb") as file:
        (size,) = struct.unpack("<Q", file.read(8))
        return int(json.loads(file.read(size))["__metadata__"]["step"])


def size(path):
    return path.stat().st_size if path.exists() else 0


def interrupt(fovea, recipe, folder, threads, number, dice):
    """Resumes a run and interrupts it while it computes. Returns what went wrong, or an empty string."""
    before, metrics = saved_step(folder), folder / "metrics.jsonl"
    with tempfile.TemporaryFile("w+") as output:
        lines = size(metrics)
        run = subprocess.Popen([fovea, "train", recipe, "--resume", "--set", f"folder={folder}", "--set", f"threads={threads}"],
                               stdout=output, stderr=subprocess.STDOUT)
        while run.poll() is None and size(metrics) <= lines:  # report_every = 1: a line for every step
            time.sleep(0.002)
        time.sleep(dice.uniform(0, 0.1))
        run.send_signal(number)
        try:
            status = run.wait(timeout=120)
        except subprocess.TimeoutExpired:
            run.kill()
            status = run.wait()
        output.seek(0)
        said = output.read()[-2000:]
    name = signal.Signals(number).name
    if status != INTERRUPTED:
        return f"{name}, threads={threads}: expected status {INTERRUPTED}, got {status}\n{said}"
    if saved_step(folder) <= before:
        return f"{name}, threads={threads}: expected a checkpoint after step {before}, got {saved_step(folder)}\n{said}"
    return ""


def main():
    fovea = str(pathlib.Path(sys.argv[1]).resolve())
    runs = int(sys.argv[2] if len(sys.argv) > 2 else os.environ.get("FOVEA_INTERRUPTS", "20"))
    dice = random.Random()
    failures = 0
    with tempfile.TemporaryDirectory() as temporary:
        for i in range(runs):
            name = dice.choice(list(MODELS))
            recipe, folder = pathlib.Path(temporary, f"{name}.toml"), pathlib.Path(temporary, name)
            recipe.write_text(DATA + MODELS[name])
            wrong = interrupt(fovea, str(recipe), folder, dice.choice((1, 2)), dice.choice(SIGNALS), dice)
            if wrong:
                failures += 1
                print(f"run {i + 1}, {name}: {wrong}", flush=True)
                shutil.rmtree(folder, ignore_errors=True)
    print(f"{runs} interrupts, {failures} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
