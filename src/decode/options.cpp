#include "decode/options.h"

#include <algorithm>
#include <cmath>

namespace fovea {

namespace {
// What a target may always have beyond its share of the source, so that short sources are not cut.
constexpr int64_t kRoom = 20;
}  // namespace

void SearchOptions::describe(Fields& f) {
  f.add("beam", beam, "Hypotheses of a sentence that are followed at the same time; 1 is greedy.").at_least(1);
  f.add("nbest", nbest, "Hypotheses to return, at most `beam`; with `sample`, how many are drawn.").at_least(1);
  f.add("length_penalty", length_penalty,
        "Exponent a of ((5+n)/6)^a, which log p is divided by (Wu et al. 2016): more favours longer targets; 0 for "
        "none.")
      .at_least(0);
  f.add("coverage_penalty", coverage_penalty,
        "How much a hypothesis loses for source words it hardly looked at (Wu et al. 2016); 0 for nothing.")
      .at_least(0);
  f.add("no_repeat_ngram", no_repeat_ngram, "No run of so many words occurs twice in a target; 0 for no such rule.")
      .at_least(0);
  f.add("min_length", min_length, "The fewest words of a target.").at_least(0);
  f.add("max_length", max_length, "The most words of a target, its end mark counted.").at_least(1);
  f.add("max_ratio", max_ratio,
        "The most words of a target for each word of its source, and 20 more; 0 for no such limit.")
      .at_least(0);
  f.add("sample", sample, "Draw words by their probability instead of searching for the likeliest.");
  f.add("temperature", temperature, "sample: below 1 likely words become likelier, above 1 all become more alike.")
      .at_least(1e-3);
  f.add("top_k", top_k, "sample: draw from so many of the likeliest words; 0 for all.").at_least(0);
  f.add("top_p", top_p, "sample: draw from the fewest words that have this much of the probability.")
      .at_least(0)
      .at_most(1);
  f.add("seed", seed, "sample: of the random numbers.").at_least(0);
}

void check_options(const SearchOptions& options) {
  SearchOptions copy = options;
  Fields fields = fields_of(copy);
  for (const Field& field : fields.list()) fields.find(field.key()).set(field.value());  // within its limits
  const SearchOptions& o = options;
  check(o.sample || o.nbest <= o.beam, "nbest: expected at most the beam of {}, got {}", o.beam, o.nbest);
  check(!o.sample || o.beam == 1, "sample: draws one word at a time; expected a beam of 1, got {}", o.beam);
  check(o.sample || (o.temperature == 1 && o.top_k == 0 && o.top_p == 1),
        "temperature, top_k and top_p are for sampling; expected sample = true");
  check(o.top_p > 0, "top_p: expected a share above 0, got {}", o.top_p);
  for (const ForcedBegin& begin : o.begins) {
    check(std::ssize(begin) < o.max_length, "prefix: expected fewer words than the max_length of {}, got {}",
          o.max_length, begin.size());
  }
  check(o.min_length < o.max_length, "min_length: expected less than the max_length of {}, got {}", o.max_length,
        o.min_length);
}

std::string search_name(const SearchOptions& options) {
  if (options.sample) return "sampled";
  return options.beam == 1 ? "greedy" : fmt::format("beam {}", options.beam);
}

int64_t longest_target(const SearchOptions& options, int64_t source_length, int64_t row) {
  if (options.max_ratio == 0) return options.max_length;
  const int64_t begin = options.begins.empty() ? 0 : std::ssize(options.begins[static_cast<size_t>(row)]);
  const auto share = static_cast<int64_t>(options.max_ratio * static_cast<double>(source_length));
  return std::max(options.min_length + 1, std::min(options.max_length, std::max(share, begin) + kRoom));
}

double length_penalty(const SearchOptions& options, int64_t length) {
  return std::pow((5.0 + static_cast<double>(length)) / 6.0, options.length_penalty);
}

}  // namespace fovea
