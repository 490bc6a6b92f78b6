#include "decode/translator.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <mutex>
#include <optional>

#include "base/error.h"
#include "decode/options.h"
#include "decode/shortlist.h"
#include "kernels/cpu/cpu.h"
#include "ops/ops.h"
#include "text/utf8.h"
#include "text/words.h"

namespace fovea {

void TranslatorOptions::describe(Fields& f) {
  f.add("device", device, "Device: cpu, cuda, cuda:N, or auto (a GPU if there is one).");
  f.add("precision", precision,
        "Precision of matrix products; auto: int8 on a CPU if the weights are stored in 8 bits, otherwise the faster "
        "one "
        "of f32 and bf16, as `fovea info MODEL` says.")
      .choices({"auto", "f32", "bf16", "int8"});
  f.add("batch_tokens", batch_tokens, "Batch size for decoding, in source tokens; 0 for one that suits the device.")
      .at_least(0);
  f.add("max_source", max_source, "Maximum source length in tokens; longer lines are truncated with a warning.")
      .at_least(1);
  f.add("shortlist", shortlist,
        "Compute the probabilities of likely target words only, on a CPU: on, off, or a file that `fovea shortlist` "
        "wrote; auto: on if the model's config.json says so.");
}

Precision precision_named(const std::string& name, Device device) {
  if (name == "auto") return device.on_host() ? fastest_precision() : Precision::kBF16;
  return name == "int8" ? Precision::kInt8 : name == "f32" ? Precision::kF32 : Precision::kBF16;
}

namespace {

// Renumbers the sentences of a search, which are the lines that are not empty, by line.
class LineWatcher : public SearchWatcher {
 public:
  LineWatcher(SearchWatcher& watcher, const std::vector<int64_t>& lines) : watcher_(watcher), lines_(lines) {}
  bool should_continue(int64_t sentence) override { return watcher_.should_continue(line(sentence)); }
  bool wants_steps(int64_t sentence) override { return watcher_.wants_steps(line(sentence)); }
  void step(int64_t sentence, const SearchStep& step) override { watcher_.step(line(sentence), step); }
  bool wants_tree(int64_t sentence) override { return watcher_.wants_tree(line(sentence)); }
  void tree(int64_t sentence, const SearchTree& tree) override { watcher_.tree(line(sentence), tree); }

 private:
  int64_t line(int64_t sentence) const { return lines_[static_cast<size_t>(sentence)]; }

  SearchWatcher& watcher_;
  const std::vector<int64_t>& lines_;
};

// Passes translations on in the order of their lines, each as soon as those before it are ready.
class InOrder {
 public:
  // Lines with candidates are ready from the start.
  InOrder(std::span<Translation> translations, const TakeTranslations& take, const std::function<void(int64_t)>& done)
      : translations_(translations), take_(take), done_(done), ready_(translations.size()) {
    for (size_t i = 0; i < ready_.size(); ++i) ready_[i] = !translations[i].candidates.empty();
    count_ = std::count(ready_.begin(), ready_.end(), true);
  }
  void add(std::span<const int64_t> lines) {
    const std::lock_guard lock(mutex_);
    for (const int64_t line : lines) ready_[static_cast<size_t>(line)] = true;
    count_ += std::ssize(lines);
    if (done_ && !lines.empty()) done_(count_);
    const auto begin = ready_.begin() + passed_;
    const int64_t more = std::find(begin, ready_.end(), false) - begin;
    if (more == 0) return;
    const std::span<Translation> next = translations_.subspan(static_cast<size_t>(passed_), static_cast<size_t>(more));
    take_(passed_, next);
    for (Translation& translation : next) translation = {};  // frees its memory
    passed_ += more;
  }

 private:
  std::span<Translation> translations_;
  const TakeTranslations& take_;
  const std::function<void(int64_t)>& done_;
  std::mutex mutex_;  // for everything below
  std::vector<bool> ready_;
  int64_t count_ = 0, passed_ = 0;  // finished; passed on
};

RuntimeOptions runtime_options(const TranslatorOptions& options) {
  const Device device = device_named(options.device);
  return {.device = device,
          .precision = precision_named(options.precision, device),
          .batches = {.tokens = options.batch_tokens},
          .max_source = options.max_source,
          .constant_weights = true};
}

// The models of an ensemble, checked for what they must share.
std::vector<LoadedModel> load_models(const std::vector<std::string>& folders, Device device) {
  check(!folders.empty(), "translate: expected at least one model folder");
  std::vector<LoadedModel> models;
  for (const std::string& folder : folders) {
    const LoadedModel& loaded = models.emplace_back(load_model(folder, device));
    const LoadedModel& first = models.front();
    check(loaded.source->bytes() == first.source->bytes() && loaded.target->bytes() == first.target->bytes(),
          "{}: expected the same vocabularies as {}: the models of an ensemble must share them", folder,
          folders.front());
    check(loaded.config.reverse_source == first.config.reverse_source &&
              loaded.config.end_source == first.config.end_source,
          "{}: expected the same end_source and reverse_source as {}", folder, folders.front());
    check(loaded.config.model.copies() == first.config.model.copies(),
          "{}: expected model.copy as in {}: the models of an ensemble must all copy, or none of them", folder,
          folders.front());
  }
  return models;
}

// Whether the matrices of a model are stored in 8 bits.
bool is_quantised(const LoadedModel& loaded) {
  return std::any_of(loaded.parameters->list().begin(), loaded.parameters->list().end(), [](const Parameter& p) {
    const Tensor& value = p.value();
    return value.shape().rank() == 2 && value.quantised_row(0, value.dim(1));
  });
}

// The shortlist that the options name; null for none.
std::shared_ptr<const Shortlist> shortlist_of(const std::vector<std::string>& folders, const LoadedModel& model,
                                              const std::string& given, Device device) {
  const bool by_default = given == "auto" && model.config.decoding.shortlist && device.on_host();
  if (given == "off" || (given == "auto" && !by_default)) return nullptr;
  check(device.on_host(), "--shortlist {}: expected a CPU, got {}: on a GPU the whole vocabulary costs little", given,
        device);
  check(!model.config.model.copies(), "{}: --shortlist {}: expected a model that does not copy words of its source",
        folders.front(), given);
  const bool of_folder = given == "on" || by_default;
  const std::string path = of_folder ? shortlist_path(folders.front()) : given;
  check(!of_folder || std::filesystem::exists(path), "{}: the model has no shortlist; `fovea shortlist` makes one",
        path);
  return Shortlist::load(path, *model.source, *model.target);
}

}  // namespace

Translator::Translator(const std::vector<std::string>& folders, const TranslatorOptions& options)
    : Translator(load_models(folders, device_named(options.device)), runtime_options(options)) {
  options_.shortlist = shortlist_of(folders, model(), options.shortlist, options_.device);
  if (options.precision == "auto" && options_.device.on_host() &&
      std::all_of(models_.begin(), models_.end(), is_quantised)) {
    options_.precision = Precision::kInt8;
  }
  // CUDA graphs are captured for each source length: few lengths are enough.
  const auto limited = [](const LoadedModel& loaded) { return loaded.model->max_source() > 0; };
  if (!options_.device.on_host() && std::none_of(models_.begin(), models_.end(), limited)) {
    options_.batches.multiple = 8;
  }
}

Translator::Translator(std::vector<LoadedModel> models, const RuntimeOptions& options)
    : models_(std::move(models)), options_(options) {
  check(!models_.empty(), "translate: expected at least one model, got none");
  for (const LoadedModel& loaded : models_) ensemble_.push_back(loaded.model.get());
  options_.batches.end_source = model().config.end_source;
  options_.batches.reverse_source = model().config.reverse_source;
  options_.batches.shuffle = false;
  if (model().config.model.copies()) copies_.emplace(*model().source, *model().target);
}

// On a CPU, small batches are the fastest: the states of all their beams stay in the cache of a core, less is padding,
// and there are enough of them for all cores. On a card a step should be as large as possible.
BatchOptions Translator::batches_for(int64_t beams) const {
  constexpr int64_t kCardTokens = 2048, kHostTokens = 512;
  BatchOptions batches = options_.batches;
  if (batches.tokens > 0 || batches.sentences > 0) return batches;
  batches.tokens = options_.device.on_host() ? std::max<int64_t>(1, kHostTokens / (2 + beams)) : kCardTokens;
  return batches;
}

std::vector<std::string> Translator::unknown(const std::string& line) const {
  std::vector<std::string> found;
  for (const Token& token : model().source->tokenise(line)) {
    const bool fresh = std::find(found.begin(), found.end(), token.text) == found.end();
    if (token.id == kUnknown && fresh) found.push_back(token.text);
  }
  return found;
}

std::string Translator::spaced(const std::string& line) const {
  const Vocabulary& source = *model().source;
  if (source.kind() != "word") return "";
  std::string text;
  for (const auto& [value, begin, end] : code_points(line)) {
    if (is_space(value)) continue;
    if (!text.empty()) text += ' ';
    append_code_point(text, value < 0x80 ? static_cast<char32_t>(std::tolower(static_cast<int>(value))) : value);
  }
  const std::vector<int32_t> before = source.encode(line), after = source.encode(text);
  const bool knew_nothing = std::count(before.begin(), before.end(), kUnknown) == std::ssize(before);
  const bool knows_all = std::count(after.begin(), after.end(), kUnknown) == 0;
  return knew_nothing && knows_all ? text : "";
}

int64_t Translator::max_source() const {
  int64_t limit = options_.max_source;
  for (const LoadedModel& loaded : models_) {
    const int64_t of_model = loaded.model->max_source();
    if (loaded.config.max_source > 0) limit = std::min(limit, loaded.config.max_source);
    if (of_model > 0) limit = std::min(limit, of_model - (loaded.config.end_source ? 1 : 0));
  }
  return limit;
}

int64_t Translator::max_target() const {
  int64_t limit = 0;
  for (const LoadedModel& loaded : models_) limit = smaller_limit(limit, loaded.model->max_target());
  return limit;
}

std::vector<WeightEdit> Translator::in_model_order(std::vector<WeightEdit> edits) const {
  if (!model().config.reverse_source) return edits;
  for (WeightEdit& e : edits) {
    if (e.kind == AttentionKind::kDecoderSelf || e.edit.weights.empty()) continue;
    const int64_t tokens = std::ssize(e.edit.weights) - (model().config.end_source ? 1 : 0);
    std::reverse(e.edit.weights.begin(), e.edit.weights.begin() + tokens);
    const bool of_source = e.kind == AttentionKind::kEncoderSelf && e.edit.row >= 0 && e.edit.row < tokens;
    if (of_source) e.edit.row = tokens - 1 - e.edit.row;
  }
  return edits;
}

std::string Translator::prepared(std::string line) const {
  return model().config.split_identifiers ? split_identifiers(line) : std::move(line);
}

SharedLine Translator::with_copies(TokenisedLine line, bool of_source) const {
  const bool some = std::find(line.ids.begin(), line.ids.end(), kUnknown) != line.ids.end();
  if (some) line.unknown = unknown_entries(of_source ? *model().source : *model().target, line.text);
  if (of_source) line.copied = copies_->source(line.ids, line.unknown);
  return std::make_shared<TokenisedLine>(std::move(line));
}

std::vector<SharedLine> Translator::tokenise_source(std::span<const std::string> lines, Offsets offsets) const {
  std::vector<std::string> texts;
  if (model().config.split_identifiers) {
    for (const std::string& line : lines) texts.push_back(prepared(line));
    lines = texts;
  }
  std::vector<SharedLine> tokenised = tokenise(lines, *model().source, offsets);
  for (SharedLine& line : tokenised) line = copies_ ? with_copies(*line, true) : line;
  return tokenised;
}

std::vector<SharedLine> Translator::tokenise_target(std::span<const std::string> lines) const {
  std::vector<SharedLine> tokenised = tokenise(lines, *model().target);
  for (SharedLine& line : tokenised) line = copies_ ? with_copies(*line, false) : line;
  return tokenised;
}

SharedLine Translator::tokenise_source(std::string line, Offsets offsets) const {
  const SharedLine tokenised = tokenise(prepared(std::move(line)), *model().source, offsets);
  return copies_ ? with_copies(*tokenised, true) : tokenised;
}

SharedLine Translator::tokenise_target(std::string line) const {
  const SharedLine tokenised = tokenise(std::move(line), *model().target);
  return copies_ ? with_copies(*tokenised, false) : tokenised;
}

std::vector<int32_t> Translator::target_ids(const TokenisedLine& source, const TokenisedLine& target) const {
  return copies_ ? copies_->target(target.ids, target.unknown, source.copied.words) : target.ids;
}

std::vector<Translation> Translator::translate(std::span<const std::string> lines, const SearchOptions& search_options,
                                               const std::function<void(int64_t)>& done) const {
  return translate(tokenise_source(lines), search_options, done);
}

std::vector<Translation> Translator::translate(std::span<const SharedLine> lines, const SearchOptions& search_options,
                                               const std::function<void(int64_t)>& done) const {
  std::vector<Translation> all(lines.size());
  const auto take = [&](int64_t first, std::span<Translation> ready) {
    std::move(ready.begin(), ready.end(), all.begin() + first);
  };
  translate(lines, search_options, take, done);
  return all;
}

void Translator::translate(std::span<const SharedLine> lines, const SearchOptions& search_options,
                           const TakeTranslations& take, const std::function<void(int64_t)>& done) const {
  const PrecisionScope precision(options_.precision);
  std::vector<Translation> translations(lines.size());
  // The search has a sentence for each line that is not empty, truncated to what the models read.
  std::vector<std::span<const int32_t>> sentences, copied;
  std::vector<int64_t> line_of;  // for each sentence
  const auto limit = static_cast<size_t>(max_source());
  for (size_t i = 0; i < lines.size(); ++i) {
    const std::vector<int32_t>& ids = lines[i]->ids;
    translations[i].source_tokens = std::ssize(ids);
    translations[i].truncated = ids.size() > limit;
    translations[i].unknown_tokens = copies_ ? 0 : std::count(ids.begin(), ids.end(), kUnknown);
    if (ids.empty()) {
      translations[i].candidates.push_back({"", {.finished = true}});  // the translation of an empty line is empty
      continue;
    }
    sentences.push_back(std::span(ids).first(std::min(ids.size(), limit)));
    if (copies_) {
      check(lines[i]->copied.ids.size() == ids.size(), "translate: expected lines of Translator::tokenise_source");
      copied.push_back(std::span(lines[i]->copied.ids).first(sentences.back().size()));
    }
    line_of.push_back(static_cast<int64_t>(i));
  }
  SearchOptions options = options_of_search(search_options, std::ssize(lines), line_of);
  std::optional<LineWatcher> watcher;
  if (search_options.watcher != nullptr) options.watcher = &watcher.emplace(*search_options.watcher, line_of);
  InOrder in_order(translations, take, done);
  const auto finished = [&](std::span<const int64_t> rows, std::span<std::vector<Hypothesis>> found) {
    std::vector<int64_t> numbers;
    for (size_t i = 0; i < found.size(); ++i) {
      const int64_t line = line_of[static_cast<size_t>(rows[i])];
      add_candidates(translations[static_cast<size_t>(line)], *lines[static_cast<size_t>(line)], found[i]);
      numbers.push_back(line);
    }
    in_order.add(numbers);
  };
  search_batches(ensemble_, CorpusView(sentences, {}, copied), batches_for(beams_of(options)), options, options_.device,
                 finished, extended_from());
  in_order.add({});  // empty lines at the end
}

void Translator::add_candidates(Translation& translation, const TokenisedLine& line,
                                std::span<Hypothesis> hypotheses) const {
  const ExtendedVocabulary target(model().target, line.copied.words);
  for (Hypothesis& hypothesis : hypotheses) {
    std::string text = target.decode(hypothesis.ids);
    translation.candidates.push_back({std::move(text), std::move(hypothesis)});
  }
}

SearchOptions Translator::options_of_search(const SearchOptions& given, int64_t lines,
                                            const std::vector<int64_t>& line_of) const {
  SearchOptions options = given;
  options.max_length = smaller_limit(given.max_length, max_target());
  options.edits = in_model_order(given.edits);
  options.constant_weights = options_.constant_weights;
  options.shortlist = options_.shortlist.get();
  if (given.prefixes.empty()) return options;
  check(std::ssize(given.prefixes) == lines, "translate: expected a target prefix for each of {} lines, got {}", lines,
        given.prefixes.size());
  options.prefixes.clear();
  for (const int64_t line : line_of) options.prefixes.push_back(given.prefixes[static_cast<size_t>(line)]);
  return options;
}

std::vector<Hypothesis> Translator::score(std::span<const std::string> sources, std::span<const std::string> targets,
                                          const ScoreOptions& options, const std::function<void(int64_t)>& done) const {
  return score(tokenise_source(sources), tokenise_target(targets), options, done);
}

std::vector<Hypothesis> Translator::score(std::span<const SharedLine> sources, std::span<const SharedLine> targets,
                                          const ScoreOptions& options, const std::function<void(int64_t)>& done) const {
  check(sources.size() == targets.size(), "score: expected as many targets as sources ({}), got {}", sources.size(),
        targets.size());
  const PrecisionScope precision(options_.precision);
  std::vector<std::span<const int32_t>> source_ids, target_spans, copied;
  std::vector<std::vector<int32_t>> extended;
  for (const SharedLine& line : sources) source_ids.emplace_back(line->ids);
  for (size_t i = 0; i < targets.size(); ++i) extended.push_back(target_ids(*sources[i], *targets[i]));
  for (const std::vector<int32_t>& ids : extended) target_spans.emplace_back(ids);
  for (size_t i = 0; copies_ && i < sources.size(); ++i) copied.emplace_back(sources[i]->copied.ids);
  ScoreOptions read = options;
  read.edits = in_model_order(options.edits);
  return fovea::score(ensemble_, CorpusView(source_ids, target_spans, copied), batches_for(1), read, options_.device,
                      done, extended_from());
}

AttentionRecord Translator::record(const TokenisedLine& line, const Hypothesis& hypothesis) const {
  return make_record(models_, line, hypothesis, max_source());
}

}  // namespace fovea
