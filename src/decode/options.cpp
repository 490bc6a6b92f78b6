#include "decode/options.h"

#include <algorithm>
#include <cmath>

namespace fovea {

namespace {
// Target tokens that are allowed in addition to max_ratio, so that the targets of short sources are not truncated.
constexpr int64_t kAllowance = 20;
// Measured with the shipped translators: two sentences of eight tokens each lose 10 BLEU when they are decoded as one.
constexpr int64_t kSplitAbove = 10;
}  // namespace

void SearchOptions::describe(Fields& f) {
  constexpr double kMostBeams = 1000, kMostSamples = 100'000;
  const std::string need_sampling = f.key("sample"), need_several = fmt::format("{} above 1", f.key("beam"));
  const bool several = beam > 1 || (sample && nbest > 1);
  f.add("beam", beam, "Beam size; 1 for greedy search.")
      .at_least(1)
      .at_most(kMostBeams)
      .also_called({"beam_size", "beams", "num_beams", "beam_width"});
  f.add("nbest", nbest, "Number of hypotheses to return, at most the beam size; with sampling, number of samples.")
      .at_least(1)
      .at_most(kMostSamples)
      .also_called({"n_best", "num_return_sequences", "num_hypotheses"});
  f.add("length_penalty", length_penalty,
        "Exponent a of the length penalty ((5+n)/6)^a that log p is divided by (Wu et al. 2016): larger values favour "
        "longer translations; 0 to disable.")
      .at_least(0)
      .also_called({"alpha", "lenpen", "normalize", "beam_alpha"})
      .needs(several, need_several);
  f.add(
       "coverage_penalty", coverage_penalty,
       "Weight of the coverage penalty on source tokens that received little attention (Wu et al. 2016); 0 to disable.")
      .at_least(0)
      .also_called({"beta"})
      .needs(several, need_several);
  f.add("no_repeat_ngram", no_repeat_ngram, "No n-gram of this size occurs twice in a translation; 0 to disable.")
      .at_least(0)
      .also_called({"no_repeat_ngram_size"});
  f.add("min_length", min_length, "Minimum length of a translation, in tokens.").at_least(0).also_called({"min_len"});
  f.add("max_length", max_length, "Maximum length of a translation, in tokens, end of sentence included.")
      .at_least(1)
      .also_called({"max_len", "max_output_length", "max_new_tokens", "max_tokens"});
  f.add("max_ratio", max_ratio, "Maximum target tokens per source token; 20 more are always allowed. 0 for no limit.")
      .at_least(0);
  f.add("allow_unknown", allow_unknown, "Let the model generate the unknown token, which is shown as ⁇.")
      .also_called({"allow_unk"});
  f.add("sample", sample, "Sample from the model's distribution instead of beam search.")
      .also_called({"sampling", "do_sample"});
  f.add("temperature", temperature, "Sampling temperature: below 1 sharpens the distribution, above 1 flattens it.")
      .at_least(1e-3)
      .also_called({"temp"})
      .needs(sample, need_sampling);
  f.add("top_k", top_k, "Sample from the k most likely tokens only; 0 for all.")
      .at_least(0)
      .needs(sample, need_sampling);
  f.add("top_p", top_p, "Nucleus sampling: sample from the most likely tokens with this total probability.")
      .at_least(0)
      .at_most(1)
      .also_called({"nucleus"})
      .needs(sample, need_sampling);
  f.add("seed", seed, "Random seed for sampling.").at_least(0).needs(sample, need_sampling);
}

SearchOptions default_search(std::string_view task) {
  SearchOptions search;
  if (task == "summarise") {  // titles of abstracts
    search.beam = 8;
    search.length_penalty = 1.2;
    search.no_repeat_ngram = 3;
  }
  if (task == "caption") search.beam = 3;
  return search;
}

SearchOptions default_search(const FolderConfig& config) {
  SearchOptions search = default_search(config.task);
  if (config.decoding.beam > 0) {
    search.beam = config.decoding.beam;
    search.length_penalty = config.decoding.length_penalty;
  }
  return search;
}

int64_t default_split_above(const FolderConfig& config) {
  if (config.decoding.split_above >= 0) return config.decoding.split_above;
  return config.task == "sequence" ? kSplitAbove : 0;
}

void check_options(const SearchOptions& options, const OptionName& name_of) {
  SearchOptions copy = options;
  Fields fields = fields_of(copy);
  for (const Field& field : fields.list()) fields.find(field.key()).set(field.value());  // within its limits
  const SearchOptions& o = options;
  const auto name = [&](std::string_view key) { return name_of ? name_of(key) : std::string(key); };
  check(o.sample || o.nbest <= o.beam, "{}: expected at most the beam size of {}, got {}", name("nbest"), o.beam,
        o.nbest);
  check(!o.sample || o.beam == 1, "{}: sampling needs a beam size of 1, got {}", name("sample"), o.beam);
  check(o.sample || (o.temperature == 1 && o.top_k == 0 && o.top_p == 1),
        "{}, {} and {} have an effect with sampling only: set {}, too", name("temperature"), name("top_k"),
        name("top_p"), name("sample"));
  check(o.top_p > 0, "{}: expected a probability above 0, got {}", name("top_p"), o.top_p);
  for (const ForcedPrefix& prefix : o.prefixes) {
    check(std::ssize(prefix) < o.max_length, "prefix: expected fewer tokens than {}, which is {}, got {}",
          name("max_length"), o.max_length, prefix.size());
  }
  check(o.min_length < o.max_length, "{}: expected less than {}, which is {}, got {}", name("min_length"),
        name("max_length"), o.max_length, o.min_length);
}

std::string search_name(const SearchOptions& options) {
  if (options.sample) return "sampled";
  return options.beam == 1 ? "greedy" : fmt::format("beam {}", options.beam);
}

int64_t max_target_length(const SearchOptions& options, int64_t source_length, int64_t row) {
  if (options.max_ratio == 0) return options.max_length;
  const int64_t prefix = options.prefixes.empty() ? 0 : std::ssize(options.prefixes[static_cast<size_t>(row)]);
  const auto share = static_cast<int64_t>(options.max_ratio * static_cast<double>(source_length));
  return std::max(options.min_length + 1, std::min(options.max_length, std::max(share, prefix) + kAllowance));
}

double length_penalty(const SearchOptions& options, int64_t length) {
  return std::pow((5.0 + static_cast<double>(length)) / 6.0, options.length_penalty);
}

}  // namespace fovea
