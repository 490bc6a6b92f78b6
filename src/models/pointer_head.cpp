#include "models/pointer_head.h"

#include <cmath>

#include "models/row_selection.h"

namespace fovea {

namespace {

constexpr float kSmallest = 1e-20f;  // keeps the logarithm finite

// The probabilities of tokens of the vocabulary followed by zeros for the extended ids, [T,B,V] -> [T,B,V+extended].
Var extend(const Var& generated, int64_t extended) {
  if (extended == 0) return generated;
  const Var none(zeros({generated.dim(0), generated.dim(1), extended}, generated.dtype(), generated.device()));
  return concat({generated, none}, 2);
}

}  // namespace

PointerHead::PointerHead(Parameters& parameters, const ModelConfig& config, std::unique_ptr<OutputHead> vocabulary,
                         const HeadSizes& sizes)
    : vocabulary_(std::move(vocabulary)), size_(sizes.vocabulary), depth_(sizes.memory), attention_(config.attention) {
  if (vocabulary_) generate_.emplace(parameters, "decoder.generate", sizes.features, 1);
  attention_.heads = 1;
  if (config.copy_attention == "cross") return;
  query_.emplace(parameters, "decoder.copy.query", sizes.features, depth_);
  keys_.emplace(parameters, "decoder.copy.keys", sizes.memory, depth_);
  attention_ = {};
  attention_.score = "scaled-dot";
}

std::vector<AttentionInfo> PointerHead::attentions() const { return {{AttentionKind::kCopy, 1, attention_}}; }

CopySource PointerHead::prepare(const Encoded& encoded) const {
  CopySource source{.lengths = encoded.lengths, .ids = encoded.copied, .extended = encoded.extended};
  if (keys_) source.keys = (*keys_)(encoded.states);
  if (source.ids) return source;
  check(static_cast<bool>(encoded.source_ids), "model.copy: expected an encoder of text, whose tokens can be copied");
  const Var ids = cast(Var(encoded.source_ids), DType::kF32);  // exact for fewer than 2^24 tokens
  source.ids = cast(permute(ids, {1, 0}), DType::kI32).value();
  return source;
}

PointerHead::Copied PointerHead::copy_weights(const HeadInput& input, AttentionTrace* trace) const {
  const Var features = concat(input.features, input.features[0].rank() - 1);
  const int64_t batch = input.source->ids.dim(0), steps = features.size() / features.dim(-1) / batch;
  Copied copied;
  if (query_) {
    const Var query = (*query_)(features).reshape({steps, batch, depth_});
    const Var scores = dot_score(query, input.source->keys, 1, 1.0f / std::sqrt(static_cast<float>(depth_)));
    copied.weights = softmax(scores, {.lengths = input.source->lengths});
  } else {
    copied.weights = input.weights;
  }
  const DType statistics = accumulator_of(copied.weights.dtype());
  if (generate_) copied.gate = cast((*generate_)(features), statistics).reshape({steps, batch});
  if (trace == nullptr) return copied;
  const Var& weights = copied.weights;
  *trace = {.kind = AttentionKind::kCopy,
            .layer = 0,
            .weights = weights.dim(1) == 1 ? weights : mean(weights, 1).reshape(weights.shape().with(1, 1)),
            .center = {},
            .scores = {}};
  if (copied.gate) trace->center = affine(sigmoid(copied.gate), -1.0f, 1.0f).reshape({steps, batch, 1});
  return copied;
}

Var PointerHead::operator()(const HeadInput& input, AttentionTrace* copy) const {
  const auto [all_heads, gate] = copy_weights(input, copy);
  const int64_t batch = all_heads.dim(0), steps = all_heads.dim(2), extended = input.source->extended;
  const DType dtype = accumulator_of(all_heads.dtype());
  const Var weights = permute(cast(mean(all_heads, 1), dtype), {1, 0, 2});  // [T,B,S]
  const Tensor ids = input.source->ids.reshape({1, batch, input.source->ids.dim(1)});
  Var mixture;
  if (vocabulary_) {
    const Var generate = sigmoid(gate).reshape({steps, batch, 1});
    const Var generated = softmax(cast((*vocabulary_)(input), dtype)).reshape({steps, batch, size_});
    const Var copied = weights * affine(generate, -1.0f, 1.0f);
    mixture = scatter_add(extend(generated * generate, extended), 2, ids, copied);
  } else {
    const Var none(zeros({steps, batch, size_ + extended}, dtype, weights.device()));
    mixture = scatter_add(none, 2, ids, weights);
  }
  Shape shape = input.features[0].shape();
  return log(affine(mixture, 1.0f, kSmallest)).reshape(shape.with(-1, size_ + extended));
}

Var PointerHead::losses(const HeadInput& input, const KnownTargets& targets, AttentionTrace* copy) const {
  const auto [weights, gate] = copy_weights(input, copy);
  Var nll;
  if (vocabulary_) {
    const Tensor& generated = targets.generated ? targets.generated : targets.ids;
    nll = negative_log_likelihood((*vocabulary_)(input), generated, targets.smoothing, targets.ignore, true);
  }
  return pointer_loss(
      weights, nll, gate,
      {.source = input.source->ids, .targets = targets.ids, .vocabulary = size_, .ignore = targets.ignore});
}

CopySource select_sentences(const CopySource& source, const Tensor& sentences) {
  CopySource selected{.ids = select_ids(source.ids, sentences), .extended = source.extended};
  if (source.keys) {
    const Memory memory = select_sentences(Memory{source.keys, source.keys, source.lengths}, sentences);
    selected.keys = memory.keys;
    selected.lengths = memory.lengths;
  } else if (source.lengths) {
    selected.lengths =
        select_ids(source.lengths.reshape({source.lengths.size(), 1}), sentences).reshape({sentences.size()});
  }
  return selected;
}

}  // namespace fovea
