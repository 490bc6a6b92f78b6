#include "tasks/answer_input.h"

#include <algorithm>
#include <unordered_map>

namespace fovea {

namespace {

constexpr int64_t kWordsMultiple = 256;  // makes for fewer tensor shapes

int64_t rounded_up(int64_t number, int64_t multiple) { return (number + multiple - 1) / multiple * multiple; }

// Tokens [T,B] on the host, filled column by column.
class TokenColumns {
 public:
  TokenColumns(int64_t time, int64_t batch)
      : time_(time),
        batch_(batch),
        ids_(static_cast<size_t>(time * batch), kPad),
        words_(ids_.size(), 0),
        features_(ids_.size() * kTokenFeatures, 0.0f),
        lengths_(static_cast<size_t>(batch), 0) {}
  void add(int64_t column, int32_t id, int32_t word, std::span<const float> features) {
    const auto at = static_cast<size_t>(lengths_[static_cast<size_t>(column)]++ * batch_ + column);
    ids_[at] = id;
    words_[at] = word;
    std::copy(features.begin(), features.end(), features_.begin() + static_cast<int64_t>(at) * kTokenFeatures);
  }
  SpanTokens on(Device device, bool characters) const {
    const Shape shape = {time_, batch_};
    SpanTokens tokens;
    tokens.ids = from_host(ids_, shape, device);
    tokens.lengths = from_host(lengths_, {batch_}, device);
    tokens.features = from_host(features_, {time_, batch_, kTokenFeatures}, device);
    if (characters) tokens.words = from_host(words_, shape, device);
    return tokens;
  }

 private:
  int64_t time_, batch_;
  std::vector<int32_t> ids_, words_;
  std::vector<float> features_;
  std::vector<int32_t> lengths_;
};

}  // namespace

std::vector<WindowRange> windows_of(int64_t tokens, const AnswerConfig& config) {
  std::vector<WindowRange> windows;
  for (int64_t begin = 0; begin < tokens; begin += config.stride) {
    windows.push_back({begin, std::min(begin + config.window, tokens)});
    if (windows.back().end == tokens) break;
  }
  return windows;
}

// The different tokens of a batch, as rows of characters.
class AnswerInputBuilder::Words {
 public:
  Words(const Forms& forms, const Vocabulary* characters, const AnswerConfig& config)
      : forms_(forms), characters_(characters), config_(config) {
    add("");  // of separators and padding
  }
  int32_t row(int32_t form) {
    if (characters_ == nullptr) return 0;
    const auto [found, fresh] = rows_.try_emplace(form, static_cast<int32_t>(all_.size()));
    if (fresh) add(forms_.text(form));
    return found->second;
  }
  void fill(SpanInput& input, Device device) const {
    if (characters_ == nullptr) return;
    const int64_t rows = rounded_up(std::ssize(all_), kWordsMultiple), before = (config_.character_width - 1) / 2;
    const int64_t time = config_.max_word + config_.character_width - 1;
    std::vector<int32_t> ids(static_cast<size_t>(time * rows), kPad), lengths(static_cast<size_t>(rows), 0);
    for (size_t word = 0; word < all_.size(); ++word) {
      for (size_t i = 0; i < all_[word].size(); ++i) {
        ids[(static_cast<size_t>(before) + i) * static_cast<size_t>(rows) + word] = all_[word][i];
      }
      lengths[word] = static_cast<int32_t>(all_[word].size());
    }
    input.characters = from_host(ids, {time, rows}, device);
    input.character_lengths = from_host(lengths, {rows}, device);
  }

 private:
  void add(const std::string& word) {
    std::vector<int32_t> ids;
    if (!word.empty()) ids = characters_->encode(word);
    if (std::ssize(ids) > config_.max_word) ids.resize(static_cast<size_t>(config_.max_word));
    all_.push_back(std::move(ids));
  }

  const Forms& forms_;
  const Vocabulary* characters_;
  const AnswerConfig& config_;
  std::unordered_map<int32_t, int32_t> rows_;
  std::vector<std::vector<int32_t>> all_;
};

SpanTokens AnswerInputBuilder::passages(std::span<const AnswerWindow> windows, Words& words, int64_t multiple,
                                        Device device) const {
  int64_t longest = 1;
  for (const AnswerWindow& window : windows) longest = std::max(longest, rows(window));
  TokenColumns columns(rounded_up(longest, multiple), std::ssize(windows));
  for (int64_t column = 0; column < std::ssize(windows); ++column) {
    const AnswerWindow& window = windows[static_cast<size_t>(column)];
    if (config_.joint()) {
      for (int64_t i = 0; i < std::ssize(window.question); ++i) {
        const TextToken& token = window.question[static_cast<size_t>(i)];
        columns.add(column, token.id, words.row(token.exact), window.features->question.row(i));
      }
      columns.add(column, kEnd, 0, separator_features());
    }
    for (int64_t i = window.begin; i < window.end; ++i) {
      const TextToken& token = window.passage->tokens[static_cast<size_t>(i)];
      columns.add(column, token.id, words.row(token.exact), window.features->passage.row(i));
    }
  }
  return columns.on(device, characters_ != nullptr);
}

SpanTokens AnswerInputBuilder::questions(std::span<const AnswerWindow> windows, Words& words, int64_t multiple,
                                         Device device) const {
  int64_t longest = 1;
  for (const AnswerWindow& window : windows) longest = std::max<int64_t>(longest, std::ssize(window.question));
  TokenColumns columns(rounded_up(longest, multiple), std::ssize(windows));
  for (int64_t column = 0; column < std::ssize(windows); ++column) {
    const AnswerWindow& window = windows[static_cast<size_t>(column)];
    for (int64_t i = 0; i < std::ssize(window.question); ++i) {
      const TextToken& token = window.question[static_cast<size_t>(i)];
      columns.add(column, token.id, words.row(token.exact), window.features->question.row(i));
    }
  }
  return columns.on(device, characters_ != nullptr);
}

SpanInput AnswerInputBuilder::operator()(std::span<const AnswerWindow> windows, const Forms& forms, int64_t multiple,
                                         Device device) const {
  SpanInput input;
  Words words(forms, characters_.get(), config_);
  input.passage = passages(windows, words, multiple, device);
  const int64_t time = input.passage.ids.dim(0), batch = std::ssize(windows);
  std::vector<float> mask(static_cast<size_t>(time * batch), kMasked);
  for (int64_t b = 0; b < batch; ++b) {
    const AnswerWindow& window = windows[static_cast<size_t>(b)];
    for (int64_t t = first_row(window); t < rows(window); ++t) mask[static_cast<size_t>(t * batch + b)] = 0;
  }
  input.passage_mask = from_host(mask, {time, batch}, device);
  if (!config_.joint()) {
    input.question = questions(windows, words, multiple, device);
    const int64_t longest = input.question.ids.dim(0);
    std::vector<float> after(static_cast<size_t>(batch * longest), kMasked);
    for (int64_t b = 0; b < batch; ++b) {
      const auto first = after.begin() + b * longest;
      std::fill(first, first + std::ssize(windows[static_cast<size_t>(b)].question), 0.0f);
    }
    input.question_mask = from_host(after, {batch, longest}, device);
  }
  words.fill(input, device);
  return input;
}

}  // namespace fovea
