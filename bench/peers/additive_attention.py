"""Additive attention on the CPU as a PyTorch user writes it: the contender of bench/attention.cpp.

additive_attention.py B T S D THREADS INPUTS RESULTS, then commands on the standard input as
bench/worker.h describes them. INPUTS and RESULTS are files of f32 in the order of bench/additive_attention.h.
"""

import sys
import time

try:
    import torch
except ImportError:
    sys.exit(1)


def resident(field):
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith(field)) / 1024


def main():
    B, T, S, D, threads = map(int, sys.argv[1:6])
    torch.set_num_threads(threads)
    with open(sys.argv[6], "rb") as file:
        flat = torch.frombuffer(bytearray(file.read()), dtype=torch.float32)
    shapes = [(T, B, D), (S, B, D), (S, B, D), (D,), (T, B, D)]
    pieces = flat.split([torch.Size(shape).numel() for shape in shapes])
    # Batch first, as most PyTorch code is.
    batch_first = lambda x: x.transpose(0, 1).contiguous() if x.dim() == 3 else x.clone()
    query, keys, values, v, dcontext = (batch_first(p.view(s)) for p, s in zip(pieces, shapes))
    leaves = [query, keys, values, v]
    for leaf in leaves:
        leaf.requires_grad_()
    del flat, pieces

    def attend():
        scores = torch.matmul(torch.tanh(query.unsqueeze(2) + keys.unsqueeze(1)), v)
        return torch.bmm(scores.softmax(2), values)

    def forward():
        with torch.no_grad():
            attend()

    def both():
        for leaf in leaves:
            leaf.grad = None
        context = attend()
        context.backward(dcontext)
        return context

    before = resident("VmRSS:")
    context = both()
    with open(sys.argv[7], "wb") as file:
        for x in (context, query.grad, keys.grad, values.grad, v.grad):
            x = x.detach()
            x = x.transpose(0, 1).contiguous() if x.dim() == 3 else x
            file.write(x.numpy().tobytes())
    del context
    print("torch " + ".".join(torch.__version__.split(".")[:2]), flush=True)

    for line in sys.stdin:
        command = line.split()
        if command[0] == "memory":
            print(resident("VmHWM:"), before, flush=True)
            continue
        run, calls = {"forward": forward, "both": both}[command[0]], int(command[1])
        begin = time.perf_counter()
        for _ in range(calls):
            run()
        print((time.perf_counter() - begin) / calls, flush=True)


main()
