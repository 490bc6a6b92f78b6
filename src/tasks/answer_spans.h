// The spans of a passage that answer best, from the logits of its windows.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace fovea {

// The logits of the tokens [begin, begin + start.size()) of a passage, as the model read them in one window. A logit of
// 0 means "not in this window" in every window, so the logits of windows can be compared.
struct WindowLogits {
  int64_t begin = 0;
  std::vector<float> start, end;
};

struct TokenSpan {
  int64_t first = 0, last = 0;  // tokens of the passage, both included
  double probability = 0;
  int64_t window = 0;  // the window that it was found in
};

// The `count` best spans of at most `max_length` tokens that do not overlap, best first. A span's probability is
// p(start) p(end), both normalised over the tokens of all windows; a token in several windows counts once, with its
// highest logit. Spans that `allowed` refuses are left out.
std::vector<TokenSpan> best_spans(std::span<const WindowLogits> windows, int64_t count, int64_t max_length,
                                  const std::function<bool(int64_t first, int64_t last)>& allowed);

}  // namespace fovea
