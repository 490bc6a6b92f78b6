"""Decoding on a card, as bench/cuda measures it: the Transformer 6+6 d512 in bf16, 32 tokens from sources of 30.

Two ways: a decoder written by hand, whose step (static KV cache, greedy or beam search) is one CUDA graph; and
`generate` of the transformers package, where it is installed.
"""

import card  # first: it explains a missing PyTorch
import torch
from card_models import Transformer
from torch.nn import functional as F

WAYS = ("eager", "graphed", "transformers")
CASES = [(1, 1), (64, 1), (64, 5), (512, 1)]  # sentences, hypotheses of the beam
VOCABULARY, SOURCE, TARGET, BEGIN = 16_000, 30, 32, 2


class Decoder:
    """Decodes a batch of B sentences with K hypotheses each; row b*K+k is hypothesis k of sentence b. All tensors are
    allocated once and have the same shapes in every step, so that one graph serves all steps: the cache has room for
    every position, and those that were not decoded yet are masked."""

    def __init__(self, model, batch, beam, source_length, target_length):
        self.model, self.batch, self.beam, self.length = model, batch, beam, target_length
        weight = model.target.weight
        self.rows, self.heads = batch * beam, model.decoder[0].self_attention.heads
        shape = (self.rows, self.heads, target_length, model.depth // self.heads)
        self.keys = [torch.zeros(shape, dtype=weight.dtype, device=weight.device) for _ in model.decoder]
        self.values = [torch.zeros_like(each) for each in self.keys]
        self.source = torch.zeros((batch, source_length), dtype=torch.long, device=weight.device)
        self.tokens = torch.zeros((self.rows, target_length), dtype=torch.long, device=weight.device)
        self.scores = torch.zeros((batch, beam), dtype=torch.float, device=weight.device)
        self.last = torch.zeros(self.rows, dtype=torch.long, device=weight.device)
        self.position = torch.zeros(1, dtype=torch.long, device=weight.device)
        self.every_position = torch.arange(target_length, device=weight.device)
        # In the first step all hypotheses of a sentence are the same: only the first one counts.
        self.first_scores = torch.full_like(self.scores, float("-inf"))
        self.first_scores[:, 0] = 0
        self.first_row = torch.arange(batch, device=weight.device)[:, None] * beam
        self.memory = None

    def for_each_hypothesis(self, x):
        """[B,...] -> [B*K,...]. repeat_interleave would synchronise, which a graph cannot."""
        return x[:, None].expand(-1, self.beam, *x.shape[1:]).flatten(0, 1)

    def begin(self):
        """Encodes the source and projects its keys and values for every layer of the decoder."""
        x = self.model.embed(self.model.source, self.source)
        for layer in self.model.encoder:
            x = layer(x)
        memory = []
        for layer in self.model.decoder:
            keys, values = (layer.cross.split(each) for each in layer.cross.keys_values(x).chunk(2, 2))
            memory.append([self.for_each_hypothesis(each) for each in (keys, values)])
        if self.memory is None:
            self.memory = [[each.clone() for each in pair] for pair in memory]
        for stored, pair in zip(self.memory, memory):
            for to, each in zip(stored, pair):
                to.copy_(each)
        self.position.zero_()
        self.scores.copy_(self.first_scores)
        self.last.fill_(BEGIN)

    def logits(self):
        """Of the token after the last one, [rows,V]; writes the keys and values of the last one into the cache."""
        model = self.model
        x = model.target(self.last)[:, None] * model.depth**0.5 + model.positions[self.position].to(model.target.weight.dtype)
        seen = (self.every_position <= self.position)[None, None, None]
        for layer, keys, values, (cross_keys, cross_values) in zip(model.decoder, self.keys, self.values, self.memory):
            attention = layer.self_attention
            k, v = attention.keys_values(x).chunk(2, 2)
            keys.index_copy_(2, self.position, attention.split(k))
            values.index_copy_(2, self.position, attention.split(v))
            y = F.scaled_dot_product_attention(attention.split(attention.query(x)), keys, values, attn_mask=seen)
            x = layer.norms[0](x + attention.out(y.transpose(1, 2).flatten(2)))
            y = F.scaled_dot_product_attention(layer.cross.split(layer.cross.query(x)), cross_keys, cross_values)
            x = layer.norms[1](x + layer.cross.out(y.transpose(1, 2).flatten(2)))
            x = layer.norms[2](x + layer.down(F.relu(layer.up(x))))
        return model.logits(x[:, 0])

    def step(self):
        logits = self.logits()
        if self.beam == 1:
            self.last.copy_(logits.argmax(1))
        else:
            log_probs = logits.float().log_softmax(1).view(self.batch, self.beam, -1) + self.scores[:, :, None]
            scores, best = log_probs.flatten(1).topk(self.beam, 1)
            rows = (self.first_row + best // logits.shape[1]).flatten()
            self.scores.copy_(scores)
            self.last.copy_((best % logits.shape[1]).flatten())
            self.tokens.copy_(self.tokens[rows])
            for cache in (*self.keys, *self.values):
                cache.copy_(cache[rows])
        self.tokens.index_copy_(1, self.position, self.last[:, None])
        self.position += 1

    def prepare(self, graphed):
        """Captures both parts as CUDA graphs, where that is asked for."""
        self.run_begin, self.run_step = self.begin, self.step
        if graphed:
            self.run_begin = card.graphed(self.begin)
            self.position.zero_()
            self.run_step = card.graphed(self.step)

    @torch.no_grad()
    def __call__(self, source):
        self.source.copy_(source)
        self.run_begin()
        for _ in range(self.length):
            self.run_step()
        return self.tokens


def sources(batch, length, vocabulary, device):
    generator = torch.Generator().manual_seed(7)
    return torch.randint(4, vocabulary, (batch, length), generator=generator).to(device)


def sizes(options):
    """Vocabulary, source length, target length, and the arguments of the Transformer."""
    return (60, 5, 6, (60, 2, 32, 4, 0.0)) if options.tiny else (VOCABULARY, SOURCE, TARGET, (VOCABULARY, 6, 512, 8, 0.0))


@torch.no_grad()
def check(options):
    """Greedy decoding with the cache takes what the whole target, given at once, makes the most likely."""
    vocabulary, source_length, target_length, arguments = sizes(options)
    torch.manual_seed(1)
    model = Transformer(*arguments).to(options.device).eval()
    source = sources(4, source_length, vocabulary, options.device)
    for beam in (1, 3):
        for graphed in (False, True) if options.device.type == "cuda" else (False,):
            decoder = Decoder(model, 4, beam, source_length, target_length)
            decoder.prepare(graphed)
            tokens = decoder(source).clone().view(4, beam, -1)[:, 0]
            before = torch.cat((torch.full_like(tokens[:, :1], BEGIN), tokens[:, :-1]), 1)
            log_probs = model(source.t(), before.t()).transpose(0, 1).log_softmax(2)
            chosen = log_probs.gather(2, tokens[:, :, None])[:, :, 0]
            if beam == 1:
                below = (log_probs.max(2).values - chosen).max().item()
                if not below < 1e-2:
                    raise SystemExit(f"error: a chosen token is {below:.1e} below the most likely one")
            else:
                card.expect_close("scores of a beam", decoder.scores[:, 0], chosen.sum(1), 1e-2)


def measure_by_hand(options, results, batch, beam, way):
    vocabulary, source_length, target_length, arguments = sizes(options)
    torch.manual_seed(1)
    dtype = torch.bfloat16 if options.device.type == "cuda" else torch.float
    model = Transformer(*arguments).to(options.device, dtype).eval()
    source = sources(batch, source_length, vocabulary, options.device)
    with torch.no_grad():
        decoder = Decoder(model, batch, beam, source_length, target_length)
        decoder.prepare(way == "graphed")
        timing = card.measure(options, lambda: decoder(source), warm=2, repeats=9)
    results.add(f"generate B{batch} beams{beam} by hand, {way}", tok_s=batch * target_length / timing.median * 1e3,
                ms=timing.median, spread=timing.spread)


def measure_transformers(options, results, batch, beam):
    try:
        from transformers import GenerationConfig, MarianConfig, MarianMTModel
    except ImportError:
        raise NotImplementedError("transformers is not installed") from None
    vocabulary, source_length, target_length, (_, layers, depth, heads, _) = sizes(options)
    torch.manual_seed(1)
    config = MarianConfig(vocab_size=vocabulary, d_model=depth, encoder_layers=layers, decoder_layers=layers,
                          encoder_attention_heads=heads, decoder_attention_heads=heads, encoder_ffn_dim=4 * depth,
                          decoder_ffn_dim=4 * depth, max_position_embeddings=64, pad_token_id=0, eos_token_id=1,
                          decoder_start_token_id=BEGIN, forced_eos_token_id=None)
    model = MarianMTModel(config).to(options.device, torch.bfloat16).eval()
    source = sources(batch, source_length, vocabulary, options.device)
    asked = GenerationConfig(num_beams=beam, do_sample=False, min_new_tokens=target_length, max_new_tokens=target_length,
                             pad_token_id=0, eos_token_id=1, decoder_start_token_id=BEGIN)
    with torch.no_grad():
        timing = card.measure(options, lambda: model.generate(source, generation_config=asked), warm=2, repeats=5)
    results.add(f"generate B{batch} beams{beam} transformers", tok_s=batch * target_length / timing.median * 1e3,
                ms=timing.median, spread=timing.spread)


def main():
    options = card.parse(__doc__.splitlines()[0], WAYS)
    results = card.Results(options)
    check(options)
    for batch, beam in [(3, 1), (2, 3)] if options.tiny else CASES:
        for way in options.ways:
            name = f"generate B{batch} beams{beam} {way}"
            if not results.wants(name) or (options.quick and way == "eager"):
                continue
            if way == "transformers":
                card.attempt(name, lambda: measure_transformers(options, results, batch, beam))
            else:
                card.attempt(name, lambda: measure_by_hand(options, results, batch, beam, way))
    results.save()


if __name__ == "__main__":
    main()
