#include "tasks/reader.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <unordered_map>

#include "base/error.h"
#include "decode/translator.h"
#include "ops/ops.h"
#include "tasks/answer_input.h"
#include "tasks/answer_model.h"
#include "tasks/answer_record.h"
#include "tasks/answer_spans.h"
#include "tensor/arena.h"
#include "text/utf8.h"

namespace fovea {

namespace {

constexpr int64_t kTokensAtOnce = 8192;         // of windows in one batch, padding included
constexpr int64_t kDeviceTokensAtOnce = 65536;  // the same on a card
constexpr int64_t kGroupTokens = 400'000;       // of passages whose features are in memory
constexpr int64_t kGroupQuestions = 4096;

std::string_view trimmed(std::string_view text) {
  while (!text.empty()) {
    const CodePoint first = code_point_at(text, 0);
    if (!is_space(first.value)) break;
    text.remove_prefix(first.end);
  }
  while (!text.empty() && (text.back() == ' ' || text.back() == '\n' || text.back() == '\t' || text.back() == '\r')) {
    text.remove_suffix(1);
  }
  return text;
}

}  // namespace

struct Reader::State {
  // A question with the windows of its passage and their logits.
  struct Tokenised {
    std::shared_ptr<const TokenisedText> passage;
    TokenisedText question;
    AnswerFeatures features;
    bool truncated = false;
    std::vector<AnswerWindow> windows;
    std::vector<WindowLogits> logits;
  };

  State(LoadedReader model, Device on, Precision with)
      : loaded(std::move(model)),
        device(on),
        precision(with),
        tokeniser(loaded.vocabulary, loaded.config.answer.lowercase),
        builder(loaded.config.answer, loaded.characters) {}

  std::vector<Reading> answer_group(std::span<const PassageQuestion> questions, const AnswerOptions& options,
                                    const std::function<void()>& after_batch) const;
  void run_windows(std::span<Tokenised> questions, const Forms& forms, const std::function<void()>& after_batch) const;
  Reading reading_of(const Tokenised& question, const Forms& forms, const AnswerOptions& options) const;
  AttentionRecord record_of(const Tokenised& question, const Forms& forms, const AnswerWindow& window,
                            const Answer& answer) const;

  LoadedReader loaded;
  Device device;
  Precision precision;
  AnswerTokeniser tokeniser;
  AnswerInputBuilder builder;
};

Reader::Reader(const std::string& folder, const PredictorOptions& options)
    : Reader(load_reader(folder, device_named(options.device)), device_named(options.device),
             precision_named(options.precision, device_named(options.device))) {}

Reader::Reader(LoadedReader loaded, Device device, Precision precision)
    : state_(std::make_shared<const State>(std::move(loaded), device, precision)) {}

const LoadedReader& Reader::loaded() const { return state_->loaded; }

std::vector<Reading> Reader::answer(std::span<const PassageQuestion> questions, const AnswerOptions& options,
                                    const std::function<void(int64_t)>& done) const {
  check(options.nbest >= 1, "answer: expected nbest of at least 1, got {}", options.nbest);
  const PrecisionScope precision(state_->precision);
  std::vector<Reading> readings;
  for (size_t begin = 0; begin < questions.size();) {
    size_t end = begin, bytes = 0;
    while (end < questions.size() && end - begin < static_cast<size_t>(kGroupQuestions) &&
           (end == begin || bytes + questions[end].passage.size() < static_cast<size_t>(4 * kGroupTokens))) {
      bytes += questions[end++].passage.size();
    }
    const auto after_batch = [&] {
      if (done) done(static_cast<int64_t>(begin));
    };
    for (Reading& reading : state_->answer_group(questions.subspan(begin, end - begin), options, after_batch)) {
      readings.push_back(std::move(reading));
    }
    begin = end;
    if (done) done(static_cast<int64_t>(end));
  }
  return readings;
}

std::vector<Reading> Reader::State::answer_group(std::span<const PassageQuestion> questions,
                                                 const AnswerOptions& options,
                                                 const std::function<void()>& after_batch) const {
  const AnswerConfig& config = loaded.config.answer;
  Forms forms;
  std::unordered_map<std::string_view, std::shared_ptr<const TokenisedText>> passages;
  std::vector<Tokenised> tokenised(questions.size());
  for (size_t i = 0; i < questions.size(); ++i) {
    Tokenised& each = tokenised[i];
    auto& passage = passages[questions[i].passage];
    if (!passage) passage = std::make_shared<const TokenisedText>(tokeniser(questions[i].passage, forms));
    each.passage = passage;
    each.question = tokeniser(questions[i].question, forms);
    each.truncated = each.question.size() > config.max_question;
    if (each.truncated) each.question.tokens.resize(static_cast<size_t>(config.max_question));
    if (each.question.tokens.empty()) continue;  // without windows there is no answer
    each.features = answer_features(*passage, each.question.tokens, loaded.vocabulary->size(), config.match_features);
    for (const WindowRange& range : windows_of(passage->size(), config)) {
      each.windows.push_back({passage.get(), each.question.tokens, &each.features, range.begin, range.end});
    }
    each.logits.resize(each.windows.size());
  }
  run_windows(tokenised, forms, after_batch);
  std::vector<Reading> readings;
  for (const Tokenised& each : tokenised) readings.push_back(reading_of(each, forms, options));
  return readings;
}

void Reader::State::run_windows(std::span<Tokenised> questions, const Forms& forms,
                                const std::function<void()>& after_batch) const {
  struct Place {
    Tokenised* question;
    size_t window;
    int64_t rows;
  };
  std::vector<Place> places;
  for (Tokenised& question : questions) {
    for (size_t i = 0; i < question.windows.size(); ++i) {
      places.push_back({&question, i, builder.rows(question.windows[i])});
    }
  }
  std::stable_sort(places.begin(), places.end(), [](const Place& a, const Place& b) { return a.rows < b.rows; });
  const int64_t most = device.on_host() ? kTokensAtOnce : kDeviceTokensAtOnce;
  Arena arena(device);
  const ArenaScope scope(&arena);
  for (size_t begin = 0; begin < places.size();) {
    size_t end = begin + 1;  // the last window of a batch is its longest
    while (end < places.size() && static_cast<int64_t>(end + 1 - begin) * places[end].rows <= most) ++end;
    std::vector<AnswerWindow> windows;
    for (size_t i = begin; i < end; ++i) windows.push_back(places[i].question->windows[places[i].window]);
    const SpanLogits logits = (*loaded.model)(builder(windows, forms, 1, device));
    const std::vector<float> start = to_host<float>(logits.start.value()), last = to_host<float>(logits.end.value());
    const size_t batch = windows.size();
    for (size_t b = 0; b < batch; ++b) {
      const Place& place = places[begin + b];
      WindowLogits& to = place.question->logits[place.window];
      to.begin = windows[b].begin;
      const auto first = static_cast<size_t>(builder.first_row(windows[b]));
      for (size_t t = first; t < static_cast<size_t>(place.rows); ++t) {
        to.start.push_back(start[t * batch + b]);
        to.end.push_back(last[t * batch + b]);
      }
    }
    arena.rewind();
    begin = end;
    after_batch();
  }
}

Reading Reader::State::reading_of(const Tokenised& question, const Forms& forms, const AnswerOptions& options) const {
  const AnswerConfig& config = loaded.config.answer;
  Reading reading;
  reading.windows = std::ssize(question.windows);
  reading.question_truncated = question.truncated;
  const TokenisedText& passage = *question.passage;
  const auto has_text = [&](int64_t token) {
    const TextToken& t = passage.tokens[static_cast<size_t>(token)];
    return t.begin < t.end;
  };
  const auto allowed = [&](int64_t first, int64_t last) { return has_text(first) && has_text(last); };
  std::vector<TokenSpan> spans;
  if (!question.logits.empty()) spans = best_spans(question.logits, options.nbest, config.max_answer, allowed);
  for (const TokenSpan& span : spans) {
    const auto begin = static_cast<size_t>(passage.tokens[static_cast<size_t>(span.first)].begin);
    const auto end = static_cast<size_t>(passage.tokens[static_cast<size_t>(span.last)].end);
    const std::string_view text = trimmed(std::string_view(passage.text).substr(begin, end - begin));
    Answer answer;
    answer.text = text;
    answer.begin_byte = text.data() - passage.text.data();
    answer.end_byte = answer.begin_byte + std::ssize(text);
    answer.begin = count_code_points(std::string_view(passage.text).substr(0, static_cast<size_t>(answer.begin_byte)));
    answer.end = answer.begin + count_code_points(text);
    answer.probability = span.probability;
    reading.answers.push_back(std::move(answer));
  }
  if (options.capture_weights && !spans.empty()) {
    const AnswerWindow& window = question.windows[static_cast<size_t>(spans.front().window)];
    reading.record = record_of(question, forms, window, reading.answers.front());
  }
  if (reading.answers.empty()) reading.answers.emplace_back();
  return reading;
}

AttentionRecord Reader::State::record_of(const Tokenised& question, const Forms& forms, const AnswerWindow& window,
                                         const Answer& answer) const {
  Arena arena(device);
  const ArenaScope scope(&arena);
  const SpanLogits logits = (*loaded.model)(builder(std::span(&window, 1), forms, 1, device), true);
  return answer_record(loaded, window, question.question.text, logits, builder.first_row(window),
                       {answer.text, answer.begin, answer.end, answer.probability});
}

std::vector<std::string> Reader::predict(std::span<const std::string> inputs) const {
  std::vector<PassageQuestion> questions;
  for (const std::string& line : inputs) {
    const size_t tab = line.rfind('\t');
    check(tab != std::string::npos, "answer: expected a passage, a tab and a question, got no tab");
    questions.push_back({line.substr(0, tab), line.substr(tab + 1)});
  }
  std::vector<std::string> texts;
  for (const Reading& reading : answer(questions)) texts.push_back(reading.answers.front().text);
  return texts;
}

std::unique_ptr<Predictor> load_reader_predictor(const std::string& folder, const PredictorOptions& options) {
  return std::make_unique<Reader>(folder, options);
}

}  // namespace fovea
