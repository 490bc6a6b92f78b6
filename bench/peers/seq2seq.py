"""Three encoder-decoders on the CPU as a PyTorch user writes them: the contenders of bench/train, bench/decode and
bench/growth.

seq2seq.py train|decode MODEL f32|bf16|compiled THREADS [BATCH LENGTH VOCABULARY WIDTH], then commands on the standard
input as bench/worker.h describes them: "step N" makes N training steps, "1 N" and "32 N" decode a batch of that many sentences greedily, N times.
"compiled" is bf16 through torch.compile, where PyTorch has it and it works on the model.
"""

import sys
import time

try:
    import torch
except ImportError:
    sys.exit(1)
from torch import nn
from torch.nn import functional as F

BATCH, LENGTH, VOCABULARY, WIDTH = map(int, sys.argv[5:9]) if len(sys.argv) == 9 else (64, 25, 10_000, 256)


class Bahdanau(nn.Module):
    def __init__(self, embedding=WIDTH, hidden=2 * WIDTH):
        super().__init__()
        self.source = nn.Embedding(VOCABULARY, embedding)
        self.target = nn.Embedding(VOCABULARY, embedding)
        self.encoder = nn.GRU(embedding, hidden, batch_first=True, bidirectional=True)
        self.bridge = nn.Linear(hidden, hidden)
        self.query = nn.Linear(hidden, hidden, bias=False)
        self.keys = nn.Linear(2 * hidden, hidden, bias=False)
        self.v = nn.Linear(hidden, 1, bias=False)
        self.cell = nn.GRUCell(embedding + 2 * hidden, hidden)
        self.deep = nn.Linear(3 * hidden + embedding, hidden)
        self.out = nn.Linear(hidden, VOCABULARY)

    def encode(self, source):
        states, last = self.encoder(self.source(source))
        return {"states": states, "keys": self.keys(states), "h": torch.tanh(self.bridge(last[1]))}

    def step(self, embedding, state):
        scores = self.v(torch.tanh(state["keys"] + self.query(state["h"])[:, None])).squeeze(2)
        context = torch.bmm(scores.softmax(1)[:, None], state["states"]).squeeze(1)
        state["h"] = self.cell(torch.cat([embedding, context], 1), state["h"])
        return torch.cat([state["h"], context, embedding], 1)

    def logits(self, features):
        return self.out(torch.tanh(self.deep(features)))


class Luong(nn.Module):
    def __init__(self, hidden=2 * WIDTH):
        super().__init__()
        self.source = nn.Embedding(VOCABULARY, hidden)
        self.target = nn.Embedding(VOCABULARY, hidden)
        self.encoder = nn.LSTM(hidden, hidden, 2, batch_first=True)
        self.lower = nn.LSTMCell(2 * hidden, hidden)
        self.upper = nn.LSTMCell(hidden, hidden)
        self.general = nn.Linear(hidden, hidden, bias=False)
        self.combine = nn.Linear(2 * hidden, hidden, bias=False)
        self.out = nn.Linear(hidden, VOCABULARY)

    def encode(self, source):
        states, (h, c) = self.encoder(self.source(source))
        return {"states": states, "keys": self.general(states), "lower": (h[0], c[0]), "upper": (h[1], c[1]),
                "fed": torch.zeros_like(states[:, 0])}

    def step(self, embedding, state):
        state["lower"] = self.lower(torch.cat([embedding, state["fed"]], 1), state["lower"])
        state["upper"] = self.upper(state["lower"][0], state["upper"])
        h = state["upper"][0]
        weights = torch.bmm(state["keys"], h[:, :, None]).squeeze(2).softmax(1)
        context = torch.bmm(weights[:, None], state["states"]).squeeze(1)
        state["fed"] = torch.tanh(self.combine(torch.cat([context, h], 1)))
        return state["fed"]

    def logits(self, features):
        return self.out(features)


def teacher_force(model, source, before):
    state, embeddings = model.encode(source), model.target(before)
    return model.logits(torch.stack([model.step(embeddings[:, t], state) for t in range(before.shape[1])], 1))


def greedy(model, source):
    state, token = model.encode(source), torch.ones(len(source), dtype=torch.long)
    for _ in range(LENGTH):
        token = model.logits(model.step(model.target(token), state)).argmax(1)


class Recurrent(nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, source, before):
        return teacher_force(self.model, source, before)

    def greedy(self, source):
        greedy(self.model, source)


class Transformer(nn.Module):
    def __init__(self, depth=WIDTH):
        super().__init__()
        self.source = nn.Embedding(VOCABULARY, depth)
        self.target = nn.Embedding(VOCABULARY, depth)
        self.register_buffer("positions", torch.randn(1, max(256, LENGTH), depth) * 0.1)
        self.core = nn.Transformer(depth, max(1, depth // 64), 3, 3, 4 * depth, dropout=0.0, batch_first=True)
        self.out = nn.Linear(depth, VOCABULARY)
        self.register_buffer("causal", nn.Transformer.generate_square_subsequent_mask(LENGTH))

    def embed(self, table, ids):
        return table(ids) * WIDTH**0.5 + self.positions[:, : ids.shape[1]]

    def forward(self, source, before):
        t = before.shape[1]
        x, y = self.embed(self.source, source), self.embed(self.target, before)
        return self.out(self.core(x, y, tgt_mask=self.causal[:t, :t]))

    def greedy(self, source):
        # nn.Transformer has no KV cache: every step runs the whole prefix again.
        memory = self.core.encoder(self.embed(self.source, source))
        ids = torch.ones(len(source), 1, dtype=torch.long)
        for t in range(1, LENGTH + 1):
            y = self.core.decoder(self.embed(self.target, ids), memory, tgt_mask=self.causal[:t, :t])
            ids = torch.cat([ids, self.out(y[:, -1]).argmax(1, keepdim=True)], 1)


def resident(field):
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith(field)) / 1024


def random_tokens(batch, length):
    return torch.randint(4, VOCABULARY, (batch, length))


def trainer(model, mode):
    optimiser = torch.optim.Adam(model.parameters(), 1e-3)
    source, before, after = (random_tokens(BATCH, LENGTH) for _ in range(3))
    run = torch.compile(model) if mode == "compiled" else model

    def step():
        optimiser.zero_grad(set_to_none=True)
        with torch.autocast("cpu", torch.bfloat16, enabled=mode != "f32"):
            logits = run(source, before)
        F.cross_entropy(logits.float().flatten(0, 1), after.flatten()).backward()
        optimiser.step()

    for _ in range(3):
        step()
    return {"step": step}


def decoder(model, mode):
    model.eval()

    def decode(source):
        with torch.no_grad(), torch.autocast("cpu", torch.bfloat16, enabled=mode != "f32"):
            model.greedy(source)

    calls = {str(b): (lambda s=random_tokens(b, LENGTH): decode(s)) for b in (1, 32)}
    for call in calls.values():
        call()
    return calls


def main():
    purpose, name, mode, threads = sys.argv[1:5]
    # Unrolled recurrences take the compiler many minutes.
    if mode == "compiled" and (not hasattr(torch, "compile") or purpose != "train" or name != "transformer"):
        sys.exit(1)
    torch.set_num_threads(int(threads))
    torch.manual_seed(0)
    before = resident("VmRSS:")
    model = {"bahdanau": lambda: Recurrent(Bahdanau()), "luong": lambda: Recurrent(Luong()), "transformer": Transformer}[name]()
    try:
        calls = (trainer if purpose == "train" else decoder)(model, mode)
    except RuntimeError as error:  # 1.13's Transformer decodes in f32 alone
        sys.exit(f"torch {torch.__version__} cannot {purpose} the {name} in {mode}: {error}")
    count = sum(p.numel() for p in model.parameters())
    print(f"torch {'.'.join(torch.__version__.split('.')[:2])} {mode} ({count / 1e6:.1f}M)", flush=True)
    for line in sys.stdin:
        command = line.split()
        if command[0] == "memory":
            print(resident("VmHWM:"), before, flush=True)
            continue
        begin = time.perf_counter()
        for _ in range(int(command[1])):
            calls[command[0]]()
        print((time.perf_counter() - begin) / int(command[1]), flush=True)


main()
