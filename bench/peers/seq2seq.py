"""Three encoder-decoders as a PyTorch user writes them: the contenders of bench/train and bench/decode.

seq2seq.py train|decode MODEL f32|bf16|compiled THREADS, then commands on the standard input as
bench/worker.h describes them: "step N" trains, "1 N" and "32 N" decode that many sentences greedily.
"compiled" is bf16 through torch.compile, where there is one and it works on the model.
"""

import sys
import time

try:
    import torch
except ImportError:
    sys.exit(1)
from torch import nn
from torch.nn import functional as F

WORDS, LENGTH, BATCH = 10_000, 25, 64


class Bahdanau(nn.Module):
    def __init__(self, embedding=256, hidden=512):
        super().__init__()
        self.source = nn.Embedding(WORDS, embedding)
        self.target = nn.Embedding(WORDS, embedding)
        self.encoder = nn.GRU(embedding, hidden, batch_first=True, bidirectional=True)
        self.bridge = nn.Linear(hidden, hidden)
        self.query = nn.Linear(hidden, hidden, bias=False)
        self.keys = nn.Linear(2 * hidden, hidden, bias=False)
        self.v = nn.Linear(hidden, 1, bias=False)
        self.cell = nn.GRUCell(embedding + 2 * hidden, hidden)
        self.deep = nn.Linear(3 * hidden + embedding, hidden)
        self.out = nn.Linear(hidden, WORDS)

    def begin(self, source):
        states, last = self.encoder(self.source(source))
        return {"states": states, "keys": self.keys(states), "h": torch.tanh(self.bridge(last[1]))}

    def step(self, word, at):
        scores = self.v(torch.tanh(at["keys"] + self.query(at["h"])[:, None])).squeeze(2)
        context = torch.bmm(scores.softmax(1)[:, None], at["states"]).squeeze(1)
        at["h"] = self.cell(torch.cat([word, context], 1), at["h"])
        return torch.cat([at["h"], context, word], 1)

    def read(self, features):
        return self.out(torch.tanh(self.deep(features)))


class Luong(nn.Module):
    def __init__(self, hidden=512):
        super().__init__()
        self.source = nn.Embedding(WORDS, hidden)
        self.target = nn.Embedding(WORDS, hidden)
        self.encoder = nn.LSTM(hidden, hidden, 2, batch_first=True)
        self.lower = nn.LSTMCell(2 * hidden, hidden)
        self.upper = nn.LSTMCell(hidden, hidden)
        self.general = nn.Linear(hidden, hidden, bias=False)
        self.combine = nn.Linear(2 * hidden, hidden, bias=False)
        self.out = nn.Linear(hidden, WORDS)

    def begin(self, source):
        states, (h, c) = self.encoder(self.source(source))
        return {"states": states, "keys": self.general(states), "lower": (h[0], c[0]), "upper": (h[1], c[1]),
                "fed": torch.zeros_like(states[:, 0])}

    def step(self, word, at):
        at["lower"] = self.lower(torch.cat([word, at["fed"]], 1), at["lower"])
        at["upper"] = self.upper(at["lower"][0], at["upper"])
        h = at["upper"][0]
        weights = torch.bmm(at["keys"], h[:, :, None]).squeeze(2).softmax(1)
        context = torch.bmm(weights[:, None], at["states"]).squeeze(1)
        at["fed"] = torch.tanh(self.combine(torch.cat([context, h], 1)))
        return at["fed"]

    def read(self, features):
        return self.out(features)


def force(model, source, before):
    at, words = model.begin(source), model.target(before)
    return model.read(torch.stack([model.step(words[:, t], at) for t in range(before.shape[1])], 1))


def greedy(model, source):
    at, word = model.begin(source), torch.ones(len(source), dtype=torch.long)
    for _ in range(LENGTH):
        word = model.read(model.step(model.target(word), at)).argmax(1)


class Recurrent(nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, source, before):
        return force(self.model, source, before)

    def greedy(self, source):
        greedy(self.model, source)


class Transformer(nn.Module):
    def __init__(self, depth=256):
        super().__init__()
        self.source = nn.Embedding(WORDS, depth)
        self.target = nn.Embedding(WORDS, depth)
        self.register_buffer("positions", torch.randn(1, 256, depth) * 0.1)
        self.core = nn.Transformer(depth, 4, 3, 3, 1024, dropout=0.0, batch_first=True)
        self.out = nn.Linear(depth, WORDS)
        self.register_buffer("causal", nn.Transformer.generate_square_subsequent_mask(LENGTH))

    def embed(self, table, words):
        return table(words) * 16 + self.positions[:, : words.shape[1]]

    def forward(self, source, before):
        t = before.shape[1]
        x, y = self.embed(self.source, source), self.embed(self.target, before)
        return self.out(self.core(x, y, tgt_mask=self.causal[:t, :t]))

    def greedy(self, source):
        # nn.Transformer keeps nothing between steps: the prefix is run again each time.
        memory = self.core.encoder(self.embed(self.source, source))
        words = torch.ones(len(source), 1, dtype=torch.long)
        for t in range(1, LENGTH + 1):
            y = self.core.decoder(self.embed(self.target, words), memory, tgt_mask=self.causal[:t, :t])
            words = torch.cat([words, self.out(y[:, -1]).argmax(1, keepdim=True)], 1)


def resident(field):
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith(field)) / 1024


def words(batch, length):
    return torch.randint(4, WORDS, (batch, length))


def trainer(model, way):
    optimiser = torch.optim.Adam(model.parameters(), 1e-3)
    source, before, after = words(BATCH, LENGTH), words(BATCH, LENGTH), words(BATCH, LENGTH)
    run = torch.compile(model) if way == "compiled" else model

    def step():
        optimiser.zero_grad(set_to_none=True)
        with torch.autocast("cpu", torch.bfloat16, enabled=way != "f32"):
            logits = run(source, before)
        F.cross_entropy(logits.float().flatten(0, 1), after.flatten()).backward()
        optimiser.step()

    for _ in range(3):
        step()
    return {"step": step}


def decoder(model, way):
    model.eval()

    def decode(source):
        with torch.no_grad(), torch.autocast("cpu", torch.bfloat16, enabled=way != "f32"):
            model.greedy(source)

    calls = {str(b): (lambda s=words(b, LENGTH): decode(s)) for b in (1, 32)}
    for call in calls.values():
        call()
    return calls


def main():
    purpose, name, way, threads = sys.argv[1:5]
    # Unrolled recurrences take the compiler many minutes.
    if way == "compiled" and (not hasattr(torch, "compile") or purpose != "train" or name != "transformer"):
        sys.exit(1)
    torch.set_num_threads(int(threads))
    torch.manual_seed(0)
    before = resident("VmRSS:")
    model = {"bahdanau": lambda: Recurrent(Bahdanau()), "luong": lambda: Recurrent(Luong()), "transformer": Transformer}[name]()
    try:
        calls = (trainer if purpose == "train" else decoder)(model, way)
    except RuntimeError as error:  # 1.13's Transformer decodes in f32 alone
        sys.exit(f"torch {torch.__version__} cannot {purpose} the {name} in {way}: {error}")
    count = sum(p.numel() for p in model.parameters())
    print(f"torch {'.'.join(torch.__version__.split('.')[:2])} {way} ({count / 1e6:.1f}M)", flush=True)
    for line in sys.stdin:
        asked = line.split()
        if asked[0] == "memory":
            print(resident("VmHWM:"), before, flush=True)
            continue
        begin = time.perf_counter()
        for _ in range(int(asked[1])):
            calls[asked[0]]()
        print((time.perf_counter() - begin) / int(asked[1]), flush=True)


main()
