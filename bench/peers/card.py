"""Shared by the PyTorch programs for a card (card_attention.py, card_training.py, card_decoding.py): the command line,
timing, checks, CUDA graphs, and the JSON file that `bench/cuda --peers` and `bench/card` read.

The file is one object, {"name of an entry": {"name of a figure": number}}. A program adds its entries to a file that is
already there.
"""

import argparse
import json
import os
import statistics
import sys
import time

NOTHING_TO_MEASURE = 77  # the exit status that bench/card knows


def nothing_to_measure(reason):
    print(reason, flush=True)
    sys.exit(NOTHING_TO_MEASURE)


try:
    import torch
except ImportError:
    if {"-h", "--help"} & set(sys.argv):
        print(sys.modules["__main__"].__doc__)
    nothing_to_measure("this Python has no PyTorch, which all options need: nothing was measured")


class Timing:
    """Milliseconds a call: the median of the repeats and their quartiles."""

    def __init__(self, samples):
        ordered = sorted(samples)
        last = len(ordered) - 1
        self.median = statistics.median(ordered)
        self.low, self.high = ordered[last // 4], ordered[last - last // 4]

    @property
    def spread(self):
        """Half the distance between the quartiles, as a share of the median."""
        return (self.high - self.low) / (2 * self.median)


def parse(description, ways):
    """Reads the command line. `ways` are the ways of running that the program knows."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--device", default="cuda", help="cuda (the default) or cpu; cpu is for checking the program")
    parser.add_argument("--tiny", action="store_true", help="small sizes and few repeats, to check the program anywhere")
    parser.add_argument("--quick", action="store_true", help="fewer ways and repeats")
    parser.add_argument("--filter", default="", help="only entries whose name contains this")
    parser.add_argument("--ways", default="", help="comma-separated, of " + ", ".join(ways))
    parser.add_argument("--json", help="also add the figures to this file")
    options = parser.parse_args()
    unknown = set(filter(None, options.ways.split(","))) - set(ways)
    if unknown:
        parser.error(f"--ways: expected some of {', '.join(ways)}, got {', '.join(sorted(unknown))}")
    options.ways = [way for way in ways if way in options.ways.split(",")] or list(ways)
    options.device = torch.device(options.device)
    if options.device.type == "cuda" and not torch.cuda.is_available():
        nothing_to_measure("no card here: nothing was measured (--device cpu --tiny checks the program)")
    if options.device.type == "cpu":
        options.ways = [way for way in options.ways if "graphed" not in way]
    if not hasattr(torch, "compile"):
        options.ways = [way for way in options.ways if "inductor" not in way]
    torch.manual_seed(0)
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = True
    torch.backends.cudnn.benchmark = True
    allow_many_shapes()
    return options


def allow_many_shapes():
    """By default torch.compile gives up and runs eagerly after eight shapes of one function."""
    if not hasattr(torch, "compile"):
        return
    from torch import _dynamo

    for limit in ("recompile_limit", "cache_size_limit"):  # the name depends on the version
        if hasattr(_dynamo.config, limit):
            setattr(_dynamo.config, limit, 256)


class Results:
    """Prints each entry as it is measured and stores all of them."""

    def __init__(self, options):
        self.options, self.entries = options, {}
        where = torch.cuda.get_device_name() if options.device.type == "cuda" else "cpu"
        print(f"PyTorch {torch.__version__} on {where}", flush=True)

    def add(self, name, **figures):
        self.entries[name] = figures
        print(f"{name:<60}" + "".join(f"  {key} {value:.4g}" for key, value in figures.items()), flush=True)

    def wants(self, name):
        return self.options.filter in name

    def save(self):
        path = self.options.json
        if not path:
            return
        entries = {}
        if os.path.exists(path):
            with open(path) as file:
                entries = json.load(file)
        entries.update(self.entries)
        with open(path, "w") as file:
            json.dump(entries, file, indent=1)


def wait(device):
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def measure(options, call, warm=5, repeats=30):
    """Times calls that are each waited for, as bench/cuda does."""
    if options.tiny:
        warm, repeats = 1, 3
    elif options.quick:
        repeats = max(5, repeats // 3)
    samples = []
    for i in range(warm + repeats):
        wait(options.device)
        begin = time.perf_counter()
        call()
        wait(options.device)
        if i >= warm:
            samples.append((time.perf_counter() - begin) * 1e3)
    return Timing(samples)


def graphed(call, warm=3):
    """Captures a call without arguments as one CUDA graph; what it returns is written again by every replay."""
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(warm):
            call()
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        result = call()

    def replay():
        graph.replay()
        return result

    return replay


def distance(got, expected):
    """The length of the difference as a share of the length of `expected`."""
    got, expected = got.detach().double().cpu(), expected.detach().double().cpu()
    return ((got - expected).norm() / expected.norm()).item()


def expect_close(what, got, expected, most):
    """A wrong answer is not timed."""
    apart = distance(got, expected)
    if not apart < most:
        sys.exit(f"error: {what}: {apart:.1e} from the reference, expected less than {most:.0e}")
    return apart


def attempt(name, measured):
    """Runs one measurement, or a check before it, and says whether that worked. What this PyTorch or card does not
    support is named and left out; a wrong answer ends the program (see expect_close)."""
    try:
        measured()
        return True
    except Exception as error:  # whatever a backend, the compiler or a package raises
        reason = str(error).strip().splitlines() or [type(error).__name__]
        print(f"{name}: left out: {reason[0][:200]}", flush=True)
        return False
    finally:
        if torch.cuda.is_available():
            torch.cuda.empty_cache()
