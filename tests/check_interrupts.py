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


def training(fovea, recipe, folder, threads, output):
    """Resumes a run and waits for its first step."""
    metrics = folder / "metrics.jsonl"
    lines = size(metrics)
    run = subprocess.Popen([fovea, "train", recipe, "--resume", "--set", f"folder={folder}", "--set", f"threads={threads}"],
                           stdout=output, stderr=subprocess.STDOUT)
    while run.poll() is None and size(metrics) <= lines:  # report_every = 1: a line for every step
        time.sleep(0.002)
    return run


def status_after(run, number):
    run.send_signal(number)
    try:
        return run.wait(timeout=120)
    except subprocess.TimeoutExpired:
        run.kill()
        return run.wait()


def interrupt(fovea, recipe, folder, threads, number, dice):
    """Interrupts a run while it computes. Returns what went wrong, or an empty string."""
    before = saved_step(folder)
    with tempfile.TemporaryFile("w+") as output:
        run = training(fovea, recipe, folder, threads, output)
        time.sleep(dice.uniform(0, 0.1))
        status = status_after(run, number)
        output.seek(0)
        said = output.read()[-2000:]
    what = f"{signal.Signals(number).name}, threads={threads}"
    if status != INTERRUPTED:
        return f"{what}: expected status {INTERRUPTED}, got {status}\n{said}"
    if saved_step(folder) <= before:
        return f"{what}: expected a checkpoint after step {before}, got one of step {saved_step(folder)}\n{said}"
    return ""


def close_output(fovea, recipe, folder):
    """A run whose output nobody reads any more goes on until it is interrupted."""
    before = saved_step(folder)
    reader, writer = os.pipe()
    run = training(fovea, recipe, folder, 1, writer)
    os.close(writer)
    os.close(reader)
    lines = size(folder / "metrics.jsonl")
    while run.poll() is None and size(folder / "metrics.jsonl") < lines + 2000:
        time.sleep(0.002)
    status = status_after(run, signal.SIGINT)
    if status != INTERRUPTED or saved_step(folder) <= before:
        return f"closed output: expected status {INTERRUPTED} and a checkpoint, got {status} and step {saved_step(folder)}"
    return ""


def end_translation(fovea, folder):
    """Commands with nothing to save end at once."""
    for number in SIGNALS:
        run = subprocess.Popen([fovea, "translate", "--model", folder], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        run.stdin.write(b"3 may 1986\n" * 5000)
        run.stdin.flush()
        status = status_after(run, number)
        if status != -number:
            return f"translate: expected to be ended by {signal.Signals(number).name}, got status {status}"
    return ""


def main():
    fovea = str(pathlib.Path(sys.argv[1]).resolve())
    runs = int(sys.argv[2] if len(sys.argv) > 2 else os.environ.get("FOVEA_INTERRUPTS", "20"))
    for number in SIGNALS:  # a shell starts programs in the background with SIGINT ignored
        signal.signal(number, signal.SIG_DFL)
    dice = random.Random()
    failures = 0

    def report(where, wrong):
        nonlocal failures
        failures += wrong != ""
        if wrong:
            print(f"{where}: {wrong}", flush=True)

    with tempfile.TemporaryDirectory() as temporary:
        recipes = {name: pathlib.Path(temporary, f"{name}.toml") for name in MODELS}
        for name, recipe in recipes.items():
            recipe.write_text(DATA + MODELS[name])
        for i in range(runs):
            name = dice.choice(list(MODELS))
            folder = pathlib.Path(temporary, name)
            wrong = interrupt(fovea, recipes[name], folder, dice.choice((1, 2)), dice.choice(SIGNALS), dice)
            report(f"run {i + 1}, {name}", wrong)
            if wrong:
                shutil.rmtree(folder, ignore_errors=True)
        folder = pathlib.Path(temporary, "last")
        report("run with a closed output", close_output(fovea, recipes["bahdanau"], folder))
        report("translation", end_translation(fovea, folder))
    print(f"{runs} interrupts, {failures} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
