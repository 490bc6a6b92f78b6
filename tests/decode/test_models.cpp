#include "decode/test_models.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace fovea {

std::vector<Setup> setups() {
  std::vector<Setup> all;
  const auto add = [&](const std::string& name, const std::string& architecture, auto&& change) {
    all.push_back({name, small_config(architecture)});
    change(all.back().config);
  };
  add("rnn_seq2seq", "rnn-seq2seq", [](ModelConfig&) {});
  add("bahdanau", "bahdanau", [](ModelConfig& c) { c.bidirectional = true; });
  add("bahdanau_lstm", "bahdanau", [](ModelConfig& c) { c.cell = "lstm", c.decoder_layers = c.encoder_layers = 2; });
  add("bahdanau_coverage", "bahdanau", [](ModelConfig& c) { c.attention.coverage = true; });
  add("bahdanau_hard", "bahdanau", [](ModelConfig& c) { c.attention.selection = "hard"; });
  add("bahdanau_sentinel", "bahdanau", [](ModelConfig& c) { c.cell = "lstm", c.attention.sentinel = true; });
  add("luong_sentinel", "luong", [](ModelConfig& c) {
    c.cell = "lstm", c.attention.sentinel = true;
    c.attention.heads = 2, c.bidirectional = true;
  });
  add("luong", "luong", [](ModelConfig& c) { c.attention.score = "general"; });
  add("luong_no_feeding", "luong", [](ModelConfig& c) { c.attention.score = "dot", c.input_feeding = false; });
  add("luong_local_p", "luong", [](ModelConfig& c) { c.attention.scope = "local-p"; });
  add("luong_local_m", "luong", [](ModelConfig& c) { c.attention.scope = "local-m"; });
  add("transformer", "transformer", [](ModelConfig& c) {
    c.attention.score = "scaled-dot", c.attention.heads = 2;
    c.decoder_layers = c.encoder_layers = 2;
  });
  add("transformer_additive", "transformer", [](ModelConfig& c) { c.positions = "learned"; });
  add("transformer_rotary", "transformer",
      [](ModelConfig& c) { c.self_attention.relative = "rotary", c.positions = "none"; });
  add("transformer_shaw", "transformer", [](ModelConfig& c) { c.self_attention.relative = "shaw"; });
  add("transformer_location_self", "transformer",
      [](ModelConfig& c) { c.self_attention.score = "location", c.self_attention.longest = 32; });
  add("transformer_local_p_self", "transformer",
      [](ModelConfig& c) { c.self_attention.scope = "local-p", c.self_attention.window = 2; });
  add("transformer_local_m_self", "transformer",
      [](ModelConfig& c) { c.self_attention.scope = "local-m", c.self_attention.window = 2; });
  add("bahdanau_copy", "bahdanau", [](ModelConfig& c) { c.copy = "mixture"; });
  add("bahdanau_pointer", "bahdanau", [](ModelConfig& c) { c.copy = "pointer"; });
  add("luong_copy_own", "luong", [](ModelConfig& c) { c.copy = "mixture", c.copy_attention = "own"; });
  add("transformer_copy", "transformer", [](ModelConfig& c) { c.copy = "mixture", c.attention.heads = 2; });
  add("transformer_pointer_own", "transformer", [](ModelConfig& c) { c.copy = "pointer", c.copy_attention = "own"; });
  for (Setup& setup : encoder_setups()) all.push_back(std::move(setup));
  return all;
}

std::vector<Setup> mechanisms(const std::string& architecture) {
  std::vector<Setup> all;
  for (const std::string& score : names_of(scores())) {
    for (const std::string& scope : names_of(scopes())) {
      for (const std::string& selection : names_of(selections())) {
        if (scope == "local-p" && selection == "sparse") continue;  // refused
        Setup& setup = all.emplace_back(Setup{score + ", " + scope + ", " + selection, small_config(architecture)});
        setup.config.attention.score = score;
        setup.config.attention.scope = scope;
        setup.config.attention.selection = selection;
      }
    }
  }
  return all;
}

SmallModel::SmallModel(const ModelConfig& config, int64_t words, uint64_t seed, float end, Device device)
    : vocabulary(words), parameters(device), model(make_model(parameters, config, {words, words})) {
  parameters.allocate(seed);
  // With initial weights, all tokens are about as likely; matrices three times as large tell them apart. Weights that
  // start at 0 get a random value, so that they have an effect.
  Random random(seed, 9);
  for (const Parameter& p : parameters.list()) {
    std::vector<float> x = to_host<float>(p.value());
    const float scale = p.decays() ? 3.0f : 1.0f;
    for (float& each : x) each = each == 0.0f ? static_cast<float>(random.uniform(-0.5, 0.5)) : scale * each;
    if (p.name() == "decoder.out.bias") x[kEnd] += end;
    copy(from_host(x, p.value().shape(), device), p.value());
  }
  parameters.values().contents_changed();
}

ParallelCorpus some_sources(int64_t words) {
  ParallelCorpus corpus;
  Random random(4);
  for (const int length : {4, 1, 9, 2, 5, 5, 3, 8, 7, 4, 6}) {
    std::vector<int32_t> ids;
    for (int i = 0; i < length; ++i)
      ids.push_back(static_cast<int32_t>(4 + random.below(static_cast<uint64_t>(words - 4))));
    corpus.source.append(ids);
  }
  return corpus;
}

BatchOptions batches_of(int64_t sentences) {
  BatchOptions options;
  options.tokens = 0;
  options.sentences = sentences;
  return options;
}

std::vector<std::vector<Hypothesis>> find_with(const SmallModel& model, const ParallelCorpus& sources,
                                               const SearchOptions& options, int64_t together) {
  const EncoderDecoder* const models[] = {model.model.get()};
  return search(models, sources, batches_of(together), options, model.parameters.values().device());
}

std::vector<Hypothesis> score_with(const SmallModel& model, const ParallelCorpus& pairs, bool capture_weights) {
  const EncoderDecoder* const models[] = {model.model.get()};
  return score(models, pairs, batches_of(4), {.capture_weights = capture_weights}, Device::cpu());
}

std::vector<double> next_log_probs(const SmallModel& model, const ParallelCorpus& sources, int64_t row,
                                   const std::vector<int32_t>& prefix) {
  const Batch batch = make_batch(CorpusView(sources).source_only(), std::span(&row, 1), batches_of(1), Device::cpu());
  std::vector<int32_t> before = {kBegin};
  before.insert(before.end(), prefix.begin(), prefix.end());
  const int64_t steps = std::ssize(before);
  const Tensor target = from_host(before, {steps, 1}, Device::cpu());
  const TeacherForced forced = model.model->teacher_force({batch.source, batch.source_lengths}, target);
  const std::vector<float> logits = to_host<float>(forced.logits.value().slice(steps - 1, steps));
  double sum = 0;
  for (const float x : logits) sum += std::exp(static_cast<double>(x));
  std::vector<double> log_probs;
  for (const float x : logits) log_probs.push_back(static_cast<double>(x) - std::log(sum));
  return log_probs;
}

namespace {

// The model in f64, with each weight changed by a random fraction of at most `relative`.
std::unique_ptr<EncoderDecoder> in_f64(Parameters& parameters, const ModelConfig& config, const SmallModel& model,
                                       int64_t words, double relative, uint64_t seed) {
  auto made = make_model(parameters, config, {words, words});
  parameters.allocate(0);
  Random random(seed);
  auto from = model.parameters.list().begin();
  for (const Parameter& p : parameters.list()) {
    std::vector<double> x;
    for (const float each : to_host<float>((from++)->get().value()))
      x.push_back(each * (1 + relative * random.uniform(-1, 1)));
    copy(from_host(x, p.value().shape(), Device::reference()), p.value());
  }
  parameters.values().contents_changed();
  return made;
}

// log p of all tokens of the pairs' targets, the end marks included.
std::vector<double> exact_log_probs(const EncoderDecoder& model, const ParallelCorpus& pairs) {
  std::vector<double> log_probs;
  for (int64_t row = 0; row < pairs.size(); ++row) {
    const Batch batch = make_batch(pairs, std::span(&row, 1), batches_of(1), Device::reference());
    const TeacherForced forced = model.teacher_force({batch.source, batch.source_lengths}, batch.target_in);
    const std::vector<double> logits = to_host<double>(forced.logits.value());
    const std::vector<int32_t> words = to_host<int32_t>(batch.target_out);
    const size_t count = logits.size() / words.size();
    for (size_t t = 0; t < words.size(); ++t) {
      double sum = 0;
      for (size_t w = 0; w < count; ++w) sum += std::exp(logits[t * count + w]);
      log_probs.push_back(logits[t * count + static_cast<size_t>(words[t])] - std::log(sum));
    }
  }
  return log_probs;
}

}  // namespace

double sensitivity(const ModelConfig& config, const SmallModel& model, const ParallelCorpus& pairs) {
  constexpr double kHalfUnit = std::numeric_limits<float>::epsilon() / 2;
  const auto log_probs = [&](double relative, uint64_t seed) {
    Parameters parameters(Device::reference(), DType::kF64);
    return exact_log_probs(*in_f64(parameters, config, model, model.vocabulary, relative, seed), pairs);
  };
  const std::vector<double> exact = log_probs(0, 0);
  double largest = 0;
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    const std::vector<double> near = log_probs(kHalfUnit, seed);
    for (size_t i = 0; i < exact.size(); ++i) largest = std::max(largest, std::abs(near[i] - exact[i]));
  }
  return largest;
}

Hypothesis greedy_by_force(const SmallModel& model, const ParallelCorpus& sources, int64_t row, int64_t longest) {
  Hypothesis h;
  while (std::ssize(h.log_probs) < longest) {
    std::vector<double> log_probs = next_log_probs(model, sources, row, h.ids);
    log_probs[kPad] = log_probs[kBegin] = log_probs[kUnknown] = -1e9;
    const auto best = std::max_element(log_probs.begin(), log_probs.end());
    h.log_probability += *best;
    h.log_probs.push_back(static_cast<float>(*best));
    h.finished = best - log_probs.begin() == kEnd;
    if (h.finished) break;
    h.ids.push_back(static_cast<int32_t>(best - log_probs.begin()));
  }
  return h;
}

}  // namespace fovea
