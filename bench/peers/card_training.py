"""Whole training steps on a card, as bench/cuda measures them: forward, backward, clipping and fused Adam.

Four ways: eager, with torch.compile (inductor), and both again with the whole step captured as one CUDA graph. Three
precisions: tf32; bf16 by autocast with cuDNN's recurrent layers in tf32; and the same with these layers in fp16.
"""

import contextlib
import itertools

import card  # first: it explains a missing PyTorch
import torch
from card_models import Bahdanau, Luong, Transformer
from torch.nn import functional as F

WAYS = ("eager", "inductor", "graphed", "graphed+inductor")
LABELS = {"eager": "as-written eager", "inductor": "as-written compiled"}  # bench/cuda selects entries by these words
VOCABULARY = 16_000


class Work:
    """One model at its size, and small for checks; the names are those of bench/cuda."""

    def __init__(self, name, make, batch, length):
        self.name, self.make, self.batch, self.length = name, make, batch, length


WORK = [
    Work("bahdanau gru E512 H1024", lambda v, tiny: Bahdanau(v, *((24, 32) if tiny else (512, 1024))), 128, 30),
    Work("bahdanau gru E256 H512", lambda v, tiny: Bahdanau(v, *((16, 24) if tiny else (256, 512))), 128, 30),
    Work("luong lstm2x512 feed", lambda v, tiny: Luong(v, 32 if tiny else 512, True), 128, 30),
    Work("luong lstm2x512 nofeed", lambda v, tiny: Luong(v, 32 if tiny else 512, False), 128, 30),
    Work("transformer 3+3 d256", lambda v, tiny: Transformer(v, 2, 32, 4, 0.0) if tiny else Transformer(v, 3, 256, 4, 0.1), 256, 32),
    Work("transformer base 6+6 d512", lambda v, tiny: Transformer(v, 2, 32, 4, 0.0) if tiny else Transformer(v, 6, 512, 8, 0.1), 256, 32),
]


def loss_of(logits, after):
    return F.cross_entropy(logits.flatten(0, 1).float() if logits.dtype != torch.double else logits.flatten(0, 1), after.flatten())


class Training:
    def __init__(self, model, precision, device, sizes):
        batch, length, vocabulary = sizes
        generator = torch.Generator().manual_seed(1)
        self.model, self.device, self.precision = model.to(device), device, precision
        self.model.rnn_half = precision == "bf16+fp16"
        self.loss_of = loss_of
        on_card = device.type == "cuda"
        self.optimiser = torch.optim.Adam(model.parameters(), 1e-3, capturable=on_card, **({"fused": True} if on_card else {}))
        self.source, self.before, self.after = (
            torch.randint(4, vocabulary, (length, batch), generator=generator).to(device) for _ in range(3)
        )

    def compile_parts(self):
        self.model.compile_parts()
        self.loss_of = torch.compile(loss_of, dynamic=False)

    def gradients(self):
        self.optimiser.zero_grad(set_to_none=True)
        bf16 = torch.autocast(self.device.type, torch.bfloat16) if self.precision.startswith("bf16") else contextlib.nullcontext()
        with bf16:
            logits = self.model(self.source, self.before)
        loss = self.loss_of(logits, self.after)
        loss.backward()
        return loss.detach()

    def step(self):
        loss = self.gradients()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimiser.step()
        return loss


def flat_gradient(model):
    return torch.cat([p.grad.flatten().double().cpu() for p in model.parameters()])


def small(work, precision, device, double=False):
    torch.manual_seed(2)
    model = work.make(50, True)
    return Training(model.double() if double else model, precision, device, (3, 6, 50))


def check(work, precision, options):
    """Loss and gradients of a small model against float64 on the host, and a graph's step against an eager one."""
    exact = small(work, "f64", torch.device("cpu"), double=True)
    loss = exact.gradients()
    ours = small(work, precision, options.device)
    tolerance = 1e-2 if precision == "tf32" else 0.2 if "transformer" in work.name else 0.06
    card.expect_close(f"{work.name} {precision}, loss", ours.gradients(), loss, tolerance)
    apart = card.expect_close(f"{work.name} {precision}, gradients", flat_gradient(ours.model), flat_gradient(exact.model), tolerance)
    if options.device.type == "cuda":
        eager, recorded = small(work, precision, options.device), small(work, precision, options.device)
        losses = [eager.step() for _ in range(4)]
        replay = card.graphed(recorded.step, warm=3)
        card.expect_close(f"{work.name} {precision}, fourth step of a graph", replay(), losses[3], 1e-2)
    print(f"{work.name} {precision}: gradients {apart:.1e} from those in float64", flush=True)


def precisions_of(work, options):
    recurrent = work.name.startswith(("bahdanau", "luong"))
    return ("tf32", "bf16", "bf16+fp16") if recurrent and options.device.type == "cuda" else ("tf32", "bf16")


def measure(work, precision, way, options, results):
    torch.manual_seed(3)
    sizes = (3, 6, 50) if options.tiny else (work.batch, work.length, VOCABULARY)
    training = Training(work.make(sizes[2], options.tiny), precision, options.device, sizes)
    if "inductor" in way:
        training.compile_parts()
    step = card.graphed(training.step) if "graphed" in way else training.step
    timing = card.measure(options, step, warm=5, repeats=30)
    tokens = sizes[0] * sizes[1]
    results.add(f"{work.name} {precision} {LABELS.get(way, way)}", step_ms=timing.median, spread=timing.spread,
                tok_s=tokens / timing.median * 1e3, loss=step().item())


def main():
    options = card.parse(__doc__.splitlines()[0], WAYS)
    results = card.Results(options)
    for work in WORK:
        if not results.wants(work.name):
            continue
        precisions = [precision for precision in precisions_of(work, options)
                      if card.attempt(f"{work.name} {precision}", lambda: check(work, precision, options))]
        for precision, way in itertools.product(precisions, options.ways):
            if options.quick and (way == "eager" or "inductor" in way):
                continue
            if "inductor" in way and precision != "bf16":  # compiling takes most of the time
                continue
            card.attempt(f"{work.name} {precision} {way}", lambda: measure(work, precision, way, options, results))
    results.save()


if __name__ == "__main__":
    main()
