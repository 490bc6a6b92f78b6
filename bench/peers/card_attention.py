"""Attention alone on a card, as bench/cuda measures it: additive attention (Bahdanau et al. 2015) and scaled dot products.

Additive attention runs eagerly, with the B x T x S x D tanh written out, and through torch.compile, which fuses the tanh
with its sum. Scaled dot products run through every backend of scaled_dot_product_attention that takes the sizes, each
also as a CUDA graph, because small ones are bound by their launches.
"""

import contextlib

import card  # first: it explains a missing PyTorch
import torch
from torch.nn import functional as F

WAYS = ("eager", "inductor", "graphed")
ADDITIVE_SIZES = [(64, 1, 50, 512), (64, 32, 32, 512), (16, 512, 512, 512), (4, 2048, 2048, 512)]  # B, T, S, D
DOT_SIZES = [  # B, H, T = S, d, causal
    (256, 8, 32, 64, False),
    (64, 8, 64, 64, False),
    (32, 8, 512, 64, True),
    (16, 16, 2048, 64, True),
    (16, 16, 2048, 128, False),
]


def additive_written_out(query, keys, values, v):
    """[B,T,D], [B,S,D], [B,S,E], [D] -> [B,T,E]"""
    scores = torch.matmul(torch.tanh(query.unsqueeze(2) + keys.unsqueeze(1)), v)
    return torch.bmm(scores.softmax(2), values)


def additive_fused(query, keys, values, v):
    """The same as a sum of products, which a compiler can fuse with the tanh."""
    scores = (torch.tanh(query.unsqueeze(2) + keys.unsqueeze(1)) * v).sum(3)
    return torch.bmm(scores.softmax(2), values)


def uniform(*shape, dtype, device, seed):
    generator = torch.Generator().manual_seed(seed)
    return (torch.rand(*shape, generator=generator) * 2 - 1).to(device=device, dtype=dtype).requires_grad_()


class Attention:
    """Inputs of one attention, and its forward pass alone or with the backward pass."""

    def __init__(self, function, inputs):
        self.function, self.inputs = function, inputs
        with torch.no_grad():
            self.dout = torch.ones_like(function(*inputs)).uniform_(-1, 1)

    def forward(self):
        with torch.no_grad():
            return self.function(*self.inputs)

    def both(self):
        return torch.autograd.grad(self.function(*self.inputs), self.inputs, self.dout)


def check(name, function, exact, inputs):
    """Forward pass and gradients against the same computation in float64 on the host."""
    tolerance = 2e-3 if inputs[0].dtype == torch.float32 else 6e-2  # eager bf16 rounds after every operation
    ours = Attention(function, inputs)
    reference = Attention(exact, [x.detach().double().cpu().requires_grad_() for x in inputs])
    reference.dout = ours.dout.double().cpu()
    card.expect_close(name, ours.forward(), reference.forward(), tolerance)
    for got, expected in zip(ours.both(), reference.both()):
        card.expect_close(name + ", gradients", got, expected, tolerance)


def measure(options, results, name, attention, repeats=20):
    if options.device.type == "cuda":
        torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated() if options.device.type == "cuda" else 0
    forward = card.measure(options, attention.forward, 3, repeats)
    both = card.measure(options, attention.both, 3, repeats)
    peak = torch.cuda.max_memory_allocated() - before if options.device.type == "cuda" else 0
    results.add(name, fwd_ms=forward.median, fwdbwd_ms=both.median, spread=both.spread, mb=peak / 1e6)


def measure_graphed(options, results, name, attention, repeats=20):
    forward = card.measure(options, card.graphed(attention.forward), 3, repeats)
    both = card.measure(options, card.graphed(attention.both), 3, repeats)
    results.add(name, fwd_ms=forward.median, fwdbwd_ms=both.median, spread=both.spread)


def additive(options, results):
    sizes = [(2, 5, 7, 16)] if options.tiny else ADDITIVE_SIZES
    functions = {"eager": additive_written_out}
    if "inductor" in options.ways:
        functions["inductor"] = torch.compile(additive_fused, dynamic=False)
    for dtype, dtype_name in ((torch.bfloat16, "bf16"), (torch.float32, "f32")):
        if options.quick and dtype_name == "f32":
            continue

        def inputs(b, t, s, d):
            shapes = ((b, t, d), (b, s, d), (b, s, d), (d,))
            return [uniform(*shape, dtype=dtype, device=options.device, seed=i) for i, shape in enumerate(shapes)]

        for way, function in functions.items():
            if way not in options.ways:
                continue
            name = f"additive {dtype_name} {way}"
            if not results.wants(name):
                continue
            if not card.attempt(name, lambda: check(name, function, additive_written_out, inputs(1, 6, 9, 64))):
                continue
            for size in sizes:
                full = name + " B{} T{} S{} D{}".format(*size)

                def run():
                    attention = Attention(function, inputs(*size))
                    measure(options, results, full, attention)
                    if "graphed" in options.ways and size[1] <= 32:  # larger ones are not bound by their launches
                        measure_graphed(options, results, full + " graphed", attention)

                card.attempt(full, run)


def dot_backends():
    """The kernels behind scaled_dot_product_attention: a name and a context that selects one of them."""
    yield "default", contextlib.nullcontext
    try:
        from torch.nn.attention import SDPBackend, sdpa_kernel
    except ImportError:
        return
    for backend in ("FLASH_ATTENTION", "CUDNN_ATTENTION", "EFFICIENT_ATTENTION"):
        if hasattr(SDPBackend, backend):
            yield backend.split("_")[0].lower(), lambda b=backend: sdpa_kernel(getattr(SDPBackend, b))


def dot(options, results):
    for b, h, t, d, causal in [(2, 2, 6, 8, True)] if options.tiny else DOT_SIZES:

        def attend(query, keys, values):
            return F.scaled_dot_product_attention(query, keys, values, is_causal=causal)

        def exact(query, keys, values):
            scores = torch.matmul(query, keys.transpose(2, 3)) / d**0.5
            if causal:
                future = torch.ones(scores.shape[2:], dtype=torch.bool).triu(1)
                scores = scores.masked_fill(future, float("-inf"))
            return torch.matmul(scores.softmax(3), values)

        def inputs(batch, length):
            return [uniform(batch, h, length, d, dtype=torch.bfloat16, device=options.device, seed=i) for i in range(3)]

        for backend, select in dot_backends():
            name = f"sdpa B{b} H{h} T{t} d{d} causal{causal} {backend}"
            if not results.wants(name):
                continue

            def run():
                with select():
                    check(name, attend, exact, inputs(1, min(t, 64)))
                    attention = Attention(attend, inputs(b, t))
                    repeats = 10 if t > 512 else 20
                    measure(options, results, name, attention, repeats)
                    if "graphed" in options.ways and t <= 512:
                        measure_graphed(options, results, name + " graphed", attention, repeats)

            card.attempt(name, run)


def main():
    options = card.parse(__doc__.splitlines()[0], WAYS)
    results = card.Results(options)
    additive(options, results)
    dot(options, results)
    results.save()


if __name__ == "__main__":
    main()
