#!/usr/bin/env python3
"""What Python costs: 1,000 sentences translated by the program and by the module, in turns, each as a process of its own.

    bench/python_overhead.py BUILD [--beam 5] [--runs 5] [--sentences 1000] [--threads 0]

Start, loading and translation are all counted. The outputs must be equal before anything is timed. Prints medians and the
spread of wall-clock time, and of CPU time, which other programs on the machine disturb less.
"""
import argparse
import itertools
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

MODULE = """
import sys, fovea
fovea.set_threads(int(sys.argv[4]))
model = fovea.load("en-zh")
lines = open(sys.argv[1], encoding="utf-8").read().split("\\n")[:-1]
with open(sys.argv[2], "w", encoding="utf-8") as out:
    out.writelines(t.text + "\\n" for t in model.translate(lines, beam=int(sys.argv[3])))
"""


def sentences(count):
    people = ["I", "You", "We", "They", "My brother", "The old man", "Her friend", "The teacher", "Our neighbours", "The children"]
    deeds = ["want to read", "have to buy", "used to like", "will never forget", "could not find", "often talk about",
             "would like to see", "should bring", "did not know", "are waiting for"]
    things = ["a book", "the station", "two apples", "that song", "a new car", "the red house", "some bread and water",
              "the answer to this question", "a letter from home", "the last train to the city"]
    ends = [".", " today.", " before it rains, don't they?", " because it is getting late."]
    every = [f"{a} {b} {c}{d}" for a, b, c, d in itertools.product(people, deeds, things, ends)]
    return [every[i * 2741 % len(every)] for i in range(count)]


def timed(command, environment):
    began = time.monotonic()
    child = subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL)
    _, status, used = os.wait4(child.pid, 0)
    if status != 0:
        sys.exit(f"{command[0]}: failed with status {status}")
    return time.monotonic() - began, used.ru_utime + used.ru_stime


def row(name, values):
    return f"{name:12} {statistics.median(values):8.3f} s   {min(values):.3f} to {max(values):.3f}"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build", type=pathlib.Path)
    for name, default in (("beam", 5), ("runs", 5), ("sentences", 1000), ("threads", 0)):
        parser.add_argument(f"--{name}", type=int, default=default)
    flags = parser.parse_args()
    build = flags.build.resolve()
    environment = dict(os.environ, PYTHONPATH=str(build / "python"), FOVEA_MODELS=str(pathlib.Path(__file__).resolve().parents[1] / "models"))
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "in").write_text("\n".join(sentences(flags.sentences)) + "\n")
        program = [str(build / "fovea"), "translate", "-m", "en-zh", "--beam", str(flags.beam), "--threads", str(flags.threads),
                   "-i", str(folder / "in"), "-o", str(folder / "out")]
        module = [sys.executable, "-c", MODULE, str(folder / "in"), str(folder / "out.py"), str(flags.beam), str(flags.threads)]
        for command in (program, module):  # also warms the file cache
            timed(command, environment)
        if (folder / "out").read_text() != (folder / "out.py").read_text():
            sys.exit("the outputs differ")
        times = {"program": [], "module": []}
        for _ in range(flags.runs):
            times["program"].append(timed(program, environment))
            times["module"].append(timed(module, environment))
    for what, index in (("wall-clock", 0), ("CPU", 1)):
        ours, theirs = ([t[index] for t in times[k]] for k in ("module", "program"))
        print(f"{what} time, {flags.sentences} sentences, beam {flags.beam}, median of {flags.runs}:")
        print(row("  program", theirs))
        print(row("  module", ours))
        print(f"  module / program: {statistics.median(ours) / statistics.median(theirs):.3f}")


if __name__ == "__main__":
    main()
