"""The encoder-decoders of bench/cuda in PyTorch, for training: the same layers, sizes and tying as Fovea's models.

Sequences are time-major in the recurrent models, as cuDNN wants them, and batch-first in the Transformer. The products
that do not depend on the step before are computed for all steps at once. `compile_parts` compiles what repeats (a
decoder's step, a layer) and not the whole model: unrolled recurrences take the compiler many minutes.
"""

import math

import torch
from torch import nn
from torch.nn import functional as F


def is_compiling():
    return hasattr(torch, "compiler") and torch.compiler.is_compiling()


def gru_cell(x_gates, h_gates, h):
    """Gates r, z, n [B,3H] and the state before [B,H] -> the state after."""
    if h.is_cuda and not is_compiling():
        return torch.ops.aten._thnn_fused_gru_cell(x_gates, h_gates, h.to(x_gates.dtype))[0]
    xr, xz, xn = x_gates.chunk(3, 1)
    hr, hz, hn = h_gates.chunk(3, 1)
    n = torch.tanh(xn + torch.sigmoid(xr + hr) * hn)
    return n + torch.sigmoid(xz + hz) * (h - n)


def lstm_cell(x_gates, h_gates, c):
    """Gates i, f, g, o [B,4H] and the cell state before [B,H] -> the state and the cell state after."""
    if c.is_cuda and not is_compiling():
        return torch.ops.aten._thnn_fused_lstm_cell(x_gates, h_gates, c.to(x_gates.dtype))[:2]
    i, f, g, o = (x_gates + h_gates).chunk(4, 1)
    c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
    return torch.sigmoid(o) * torch.tanh(c), c


class Recurrent(nn.Module):
    """What the recurrent models share. `rnn_half` runs cuDNN's layers in fp16, otherwise they run in tf32: cuDNN has no
    bf16 for them in every version."""

    rnn_half = False

    def unroll(self, rnn, x, initial=None):
        dtype = rnn.weight_ih_l0.dtype
        if initial is not None:
            initial = tuple(each.to(dtype) for each in initial)
        with torch.autocast(x.device.type, torch.float16) if self.rnn_half else torch.autocast(x.device.type, enabled=False):
            return rnn(x.to(dtype), initial)

    def compile_parts(self):
        self.step = torch.compile(self.step, dynamic=False)
        self.logits = torch.compile(self.logits, dynamic=False)


class Bahdanau(Recurrent):
    def __init__(self, vocabulary, embedding, hidden):
        super().__init__()
        self.hidden = hidden
        self.source = nn.Embedding(vocabulary, embedding)
        self.target = nn.Embedding(vocabulary, embedding)
        self.encoder = nn.GRU(embedding, hidden, bidirectional=True)
        self.bridge = nn.Linear(hidden, hidden)
        self.keys = nn.Linear(2 * hidden, hidden, bias=False)
        self.v = nn.Parameter(torch.empty(hidden).uniform_(-1, 1) / math.sqrt(hidden))
        self.word_gates = nn.Linear(embedding, 3 * hidden)
        self.context_gates = nn.Linear(2 * hidden, 3 * hidden, bias=False)
        self.from_state = nn.Linear(hidden, 4 * hidden)  # the attention's query and the gates h of the cell
        self.deep = nn.Linear(3 * hidden + embedding, embedding)
        self.bias = nn.Parameter(torch.zeros(vocabulary))  # the output weights are the target's embeddings

    def step(self, word_gates, states, keys, h):
        query, h_gates = self.from_state(h).split((self.hidden, 3 * self.hidden), 1)
        activations = torch.tanh(keys + query.unsqueeze(1))  # [B,S,H]
        v = self.v.to(activations.dtype)
        scores = (activations * v).sum(2) if is_compiling() else torch.matmul(activations, v)
        context = torch.bmm(scores.softmax(1).to(states.dtype).unsqueeze(1), states).squeeze(1)
        return gru_cell(word_gates + self.context_gates(context), h_gates, h), context

    def logits(self, states, contexts, words):
        features = torch.cat((states, contexts.to(states.dtype), words.to(states.dtype)), 2)
        return F.linear(torch.tanh(self.deep(features)), self.target.weight, self.bias)

    def forward(self, source, before):
        """Token ids [S,B] and [T,B] -> logits [T,B,V]"""
        states, last = self.unroll(self.encoder, self.source(source))
        states = states.transpose(0, 1).contiguous()  # [B,S,2H]
        keys = self.keys(states)
        states = states.to(keys.dtype)
        h = torch.tanh(self.bridge(last[1]))
        words = self.target(before)
        word_gates = self.word_gates(words)
        steps = []
        for t in range(before.shape[0]):
            h, context = self.step(word_gates[t], states, keys, h)
            steps.append((h, context))
        return self.logits(torch.stack([h for h, _ in steps]), torch.stack([c for _, c in steps]), words)


class Luong(Recurrent):
    """Two layers of LSTM on both sides and the general score, with or without input feeding."""

    def __init__(self, vocabulary, hidden, input_feeding):
        super().__init__()
        self.input_feeding = input_feeding
        self.source = nn.Embedding(vocabulary, hidden)
        self.target = nn.Embedding(vocabulary, hidden)
        self.encoder = nn.LSTM(hidden, hidden, 2)
        self.bridges = nn.ModuleList(nn.Linear(hidden, hidden) for _ in range(4))  # h and c of both layers
        self.general = nn.Linear(hidden, hidden, bias=False)
        self.combine = nn.Linear(2 * hidden, hidden, bias=False)
        self.out = nn.Linear(hidden, vocabulary)
        if input_feeding:
            self.word_gates = nn.Linear(hidden, 4 * hidden)
            self.lower = nn.Linear(2 * hidden, 4 * hidden)  # of [fed vector; h]
            self.upper_x = nn.Linear(hidden, 4 * hidden)
            self.upper_h = nn.Linear(hidden, 4 * hidden)
        else:
            self.decoder = nn.LSTM(hidden, hidden, 2)

    def initial(self, h, c):
        h = [torch.tanh(self.bridges[layer](h[layer])) for layer in (0, 1)]
        return h, [self.bridges[2 + layer](c[layer]) for layer in (0, 1)]

    def attend(self, query, states, keys):
        """[B,T,H] -> tanh(W [context; query]), [B,T,H]"""
        weights = torch.bmm(query.to(keys.dtype), keys.transpose(1, 2)).softmax(2)
        context = torch.bmm(weights.to(states.dtype), states)
        return torch.tanh(self.combine(torch.cat((context, query.to(context.dtype)), 2)))

    def step(self, word_gates, states, keys, fed, h0, c0, h1, c1):
        h0, c0 = lstm_cell(word_gates, self.lower(torch.cat((fed.to(h0.dtype), h0), 1)), c0)
        h1, c1 = lstm_cell(self.upper_x(h0), self.upper_h(h1), c1)
        return self.attend(h1.unsqueeze(1), states, keys).squeeze(1), h0, c0, h1, c1

    def logits(self, features):
        return self.out(features)

    def forward(self, source, before):
        states, (h, c) = self.unroll(self.encoder, self.source(source))
        states = states.transpose(0, 1).contiguous()
        keys = self.general(states)
        states = states.to(keys.dtype)
        h, c = self.initial(h, c)
        words = self.target(before)
        if not self.input_feeding:
            outputs, _ = self.unroll(self.decoder, words, (torch.stack(h), torch.stack(c)))
            return self.logits(self.attend(outputs.transpose(0, 1), states, keys).transpose(0, 1))
        word_gates = self.word_gates(words)
        fed, h0, c0, h1, c1 = torch.zeros_like(h[0]), h[0], c[0], h[1], c[1]
        steps = []
        for t in range(before.shape[0]):
            fed, h0, c0, h1, c1 = self.step(word_gates[t], states, keys, fed, h0, c0, h1, c1)
            steps.append(fed)
        return self.logits(torch.stack(steps))


class MultiHead(nn.Module):
    def __init__(self, depth, heads, dropout):
        super().__init__()
        self.heads, self.dropout = heads, dropout
        self.query = nn.Linear(depth, depth)
        self.keys_values = nn.Linear(depth, 2 * depth)
        self.out = nn.Linear(depth, depth)

    def split(self, x):
        """[B,T,D] -> [B,H,T,d]"""
        return x.unflatten(2, (self.heads, -1)).transpose(1, 2)

    def forward(self, x, memory, causal=False):
        if memory is None:  # self-attention: one product for queries, keys and values
            weight = torch.cat((self.query.weight, self.keys_values.weight))
            bias = torch.cat((self.query.bias, self.keys_values.bias))
            q, k, v = F.linear(x, weight, bias).chunk(3, 2)
        else:
            q, (k, v) = self.query(x), self.keys_values(memory).chunk(2, 2)
        rate = self.dropout if self.training else 0.0
        y = F.scaled_dot_product_attention(self.split(q), self.split(k), self.split(v), dropout_p=rate, is_causal=causal)
        return self.out(y.transpose(1, 2).flatten(2))


class Layer(nn.Module):
    """Post-norm, as in the paper: norm(x + dropout(f(x))) for each sub-layer."""

    def __init__(self, depth, heads, dropout, decoder):
        super().__init__()
        self.self_attention = MultiHead(depth, heads, dropout)
        self.cross = MultiHead(depth, heads, dropout) if decoder else None
        self.up, self.down = nn.Linear(depth, 4 * depth), nn.Linear(4 * depth, depth)
        self.norms = nn.ModuleList(nn.LayerNorm(depth) for _ in range(3 if decoder else 2))
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, memory=None):
        x = self.norms[0](x + self.dropout(self.self_attention(x, None, causal=self.cross is not None)))
        if self.cross is not None:
            x = self.norms[1](x + self.dropout(self.cross(x, memory)))
        return self.norms[-1](x + self.dropout(self.down(self.dropout(F.relu(self.up(x))))))


def sinusoids(length, depth):
    position = torch.arange(length, dtype=torch.double)[:, None]
    angle = position / 10000 ** (torch.arange(0, depth, 2, dtype=torch.double) / depth)
    return torch.stack((angle.sin(), angle.cos()), 2).flatten(1).float()


class Transformer(nn.Module):
    def __init__(self, vocabulary, layers, depth, heads, dropout):
        super().__init__()
        self.depth = depth
        self.source = nn.Embedding(vocabulary, depth)
        self.target = nn.Embedding(vocabulary, depth)
        for table in (self.source, self.target):
            nn.init.normal_(table.weight, std=depth**-0.5)
        self.register_buffer("positions", sinusoids(64, depth))
        self.encoder = nn.ModuleList(Layer(depth, heads, dropout, decoder=False) for _ in range(layers))
        self.decoder = nn.ModuleList(Layer(depth, heads, dropout, decoder=True) for _ in range(layers))
        self.dropout = nn.Dropout(dropout)
        self.bias = nn.Parameter(torch.zeros(vocabulary))  # the output weights are the target's embeddings

    def embed(self, table, ids):
        x = table(ids) * math.sqrt(self.depth) + self.positions[: ids.shape[1]]
        if x.is_cuda and torch.is_autocast_enabled():  # embeddings are not autocast: residuals would stay in f32
            x = x.bfloat16()
        return self.dropout(x)

    def logits(self, features):
        return F.linear(features, self.target.weight, self.bias)

    def forward(self, source, before):
        """Token ids [S,B] and [T,B] -> logits [T,B,V]"""
        memory = self.embed(self.source, source.t())
        for layer in self.encoder:
            memory = layer(memory)
        x = self.embed(self.target, before.t())
        for layer in self.decoder:
            x = layer(x, memory)
        return self.logits(x).transpose(0, 1)

    def compile_parts(self):
        for layer in (*self.encoder, *self.decoder):
            layer.forward = torch.compile(layer.forward, dynamic=False)
        self.logits = torch.compile(self.logits, dynamic=False)
