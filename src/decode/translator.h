// Text in, text out: one model, or an ensemble with one vocabulary, translates lines and scores given translations.
// The models are read from folders or are already in memory.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "attention/record.h"
#include "decode/record.h"
#include "decode/search.h"
#include "decode/tokenised_line.h"
#include "store/model_folder.h"

namespace fovea {

struct TranslatorOptions {
  std::string device = "auto";
  std::string precision = "auto";  // or f32, bf16, int8
  int64_t batch_tokens = 0;        // 0: as in RuntimeOptions
  int64_t max_source = 1000;
  std::string shortlist = "auto";  // or off, on: that of the model's folder; or a file

  void describe(Fields& fields);
};

// f32, bf16, int8; or auto: bf16 on a GPU, on a CPU the faster one of f32 and bf16.
Precision precision_named(const std::string& name, Device device);

// How models in memory are run.
struct RuntimeOptions {
  Device device = Device::cpu();  // the device of the models' parameters
  Precision precision = Precision::kF32;
  // The batch sizes; the conventions of the source are the models'. 0 tokens: a size that suits the device and the
  // beam.
  BatchOptions batches;
  int64_t max_source = 1000;                   // as in TranslatorOptions
  std::shared_ptr<const Shortlist> shortlist;  // for the vocabularies of the models; null: none
  bool constant_weights = false;  // promises that the weights never change, so that CUDA graphs may be captured
};

struct Translation {
  struct Candidate {
    std::string text;
    Hypothesis hypothesis;
  };
  std::vector<Candidate> candidates;  // best first; one empty text for an empty line
  int64_t source_tokens = 0;          // of the whole line
  bool truncated = false;             // the line was longer than the model reads: its last tokens were left out
  int64_t unknown_tokens = 0;         // tokens of the line that are not in the vocabulary

  const std::string& text() const { return candidates.front().text; }
};

// Receives translations in the order of their lines, some at a time: those of the lines from `first` on.
using TakeTranslations = std::function<void(int64_t first, std::span<Translation> translations)>;

// Several threads may use a Translator at the same time.
class Translator {
 public:
  Translator(const std::vector<std::string>& folders, const TranslatorOptions& options);
  // The weights are read anew at each call: a model may be trained in between.
  Translator(std::vector<LoadedModel> models, const RuntimeOptions& options);

  // One translation for each line. `done` receives the number of finished lines. Prefixes and the watcher's sentences
  // are numbered by line; the weights of edits are in the order of the text.
  std::vector<Translation> translate(std::span<const std::string> lines, const SearchOptions& search,
                                     const std::function<void(int64_t)>& done = {}) const;
  // The same, but passes the translations on as they are ready, in order. `take` and `done` are called from any thread,
  // one at a time.
  void translate(std::span<const SharedLine> lines, const SearchOptions& search, const TakeTranslations& take,
                 const std::function<void(int64_t)>& done = {}) const;
  // The probabilities of given targets, one for each source.
  std::vector<Hypothesis> score(std::span<const std::string> sources, std::span<const std::string> targets,
                                const ScoreOptions& options = {}, const std::function<void(int64_t)>& done = {}) const;
  // The same of lines that are tokenised already, by the two functions below.
  std::vector<Translation> translate(std::span<const SharedLine> lines, const SearchOptions& search,
                                     const std::function<void(int64_t)>& done = {}) const;
  std::vector<Hypothesis> score(std::span<const SharedLine> sources, std::span<const SharedLine> targets,
                                const ScoreOptions& options = {}, const std::function<void(int64_t)>& done = {}) const;
  std::vector<SharedLine> tokenise_source(std::span<const std::string> lines, Offsets offsets = Offsets::kNone) const;
  std::vector<SharedLine> tokenise_target(std::span<const std::string> lines) const;
  // The same of one line, on the calling thread.
  SharedLine tokenise_source(std::string line, Offsets offsets = Offsets::kNone) const;
  SharedLine tokenise_target(std::string line) const;
  // The ids of a tokenised target for its source, with the extended ids of words that it copies.
  std::vector<int32_t> target_ids(const TokenisedLine& source, const TokenisedLine& target) const;
  // The attention record of a hypothesis for the line, which must be tokenised with offsets. The hypothesis must have
  // captured its attention weights. The caller fills in what it alone knows: line, rank, search.
  AttentionRecord record(const TokenisedLine& line, const Hypothesis& hypothesis) const;

  // The tokens of a line that are not in the vocabulary, each once, as they are written.
  std::vector<std::string> unknown(const std::string& line) const;
  bool copies() const { return copies_.has_value(); }  // whether words of the source can be copied

  // For a model whose words are single characters: a line of unknown words, written as the model expects it, so that
  // "fovea" becomes "f o v e a". Empty for every other line.
  std::string spaced(const std::string& line) const;

  int64_t max_source() const;  // tokens of a line that are read
  int64_t max_target() const;  // tokens of a target, the end mark included; 0 for no limit
  Precision precision() const { return options_.precision; }
  const Shortlist* shortlist() const { return options_.shortlist.get(); }
  const LoadedModel& model() const { return models_.front(); }
  std::span<const LoadedModel> models() const { return models_; }

 private:
  // The batch sizes for so many beams.
  BatchOptions batches_for(int64_t beams) const;
  // The options of the search for lines whose sentences have the line numbers line_of.
  SearchOptions options_of_search(const SearchOptions& given, int64_t lines, const std::vector<int64_t>& line_of) const;
  void add_candidates(Translation& translation, const TokenisedLine& line, std::span<Hypothesis> hypotheses) const;
  // A line as the model reads it: with the words of its identifiers, if the model splits them.
  std::string prepared(std::string line) const;
  // Adds what a model that copies needs to know of a line.
  SharedLine with_copies(TokenisedLine line, bool of_source) const;
  int64_t extended_from() const { return copies_ ? copies_->target_size() : 0; }
  // The edits in the order in which the model reads its source.
  std::vector<WeightEdit> in_model_order(std::vector<WeightEdit> edits) const;

  std::vector<LoadedModel> models_;
  std::vector<const EncoderDecoder*> ensemble_;  // the same models, as search() takes them
  RuntimeOptions options_;
  std::optional<CopyTable> copies_;  // of models that copy
};

}  // namespace fovea
