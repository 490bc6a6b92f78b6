// Questions with windows of their passages as the tensors of a batch.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "models/span_model.h"
#include "tasks/answer_features.h"

namespace fovea {

// A window [begin, end) of a passage, in tokens.
struct AnswerWindow {
  const TokenisedText* passage;
  std::span<const TextToken> question;
  const AnswerFeatures* features;
  int64_t begin, end;
  int64_t size() const { return end - begin; }
};

// The windows of a passage: each starts `stride` tokens after the one before, and the last one ends with the passage.
struct WindowRange {
  int64_t begin, end;
};
std::vector<WindowRange> windows_of(int64_t tokens, const AnswerConfig& config);

class AnswerInputBuilder {
 public:
  AnswerInputBuilder(const AnswerConfig& config, std::shared_ptr<const Vocabulary> characters)
      : config_(config), characters_(std::move(characters)) {}

  // Lengths are padded to a multiple of `multiple`. Every window must have a token, and every question too.
  SpanInput operator()(std::span<const AnswerWindow> windows, const Forms& forms, int64_t multiple,
                       Device device) const;
  // The row of a window's first token in the logits.
  int64_t first_row(const AnswerWindow& window) const { return config_.joint() ? std::ssize(window.question) + 1 : 0; }
  // The rows that a window needs, without padding.
  int64_t rows(const AnswerWindow& window) const { return first_row(window) + window.size(); }

 private:
  class Words;
  SpanTokens passages(std::span<const AnswerWindow> windows, Words& words, int64_t multiple, Device device) const;
  SpanTokens questions(std::span<const AnswerWindow> windows, Words& words, int64_t multiple, Device device) const;

  AnswerConfig config_;
  std::shared_ptr<const Vocabulary> characters_;  // absent for a model that reads none
};

}  // namespace fovea
