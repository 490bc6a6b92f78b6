// fovea translate and fovea summarise: text to text, line by line or a document a file.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/thousands.h"
#include "decode/options.h"
#include "decode/paragraphs.h"
#include "decode/warnings.h"
#include "fovea/commands.h"
#include "fovea/console.h"
#include "fovea/flags.h"
#include "fovea/mistakes.h"
#include "fovea/output.h"
#include "fovea/word_fields.h"
#include "kernels/cpu/cpu.h"
#include "store/shipped.h"
#include "text/lines.h"
#include "text/utf8.h"

namespace fovea::app {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kTitles = "titles";  // the shipped model that summarises
constexpr size_t kLinesAtOnce = 4096;           // lines that are sorted by length and batched together

// What the two commands call the same things.
struct Words {
  std::string_view task, command, done, result, unit, typed;
};
constexpr Words kTranslate = {"sequence",    "translate", "translated",
                              "translation", "line",      "type one sentence per line"};
constexpr Words kSummarise = {"summarise", "summarise", "summarised",
                              "summary",   "document",  "type one document per line"};

struct TranslateFlags : ModelFlags {
  Words words = kTranslate;
  std::vector<std::string> texts, files;
  std::string input = "-", output;
  std::string prefix, prefixes;  // for every line; a file with one for each line
  bool json = false, check_attention = false;
  WordFlags word_flags;
  SearchFlags search_flags;
  LineFlags line_flags;
};

// The precision in which the products are really computed.
std::string_view computed_precision(const Translator& translator) {
  const bool on_host = translator.model().parameters->device().on_host();
  const Precision precision = translator.precision();
  switch (on_host ? fovea::computed_precision(precision) : precision) {
    case Precision::kF32: return "f32";
    case Precision::kBF16: return "bf16";
    case Precision::kInt8: return "int8";
  }
  return "";
}

// The parts of a line that was split, by their characters in the source.
Json parts_json(const std::string& source, const TranslatedText& text) {
  Json parts = Json::array();
  for (size_t i = 0; i < text.parts.size(); ++i) {
    const auto [begin, end] = text.parts[i];
    const Translation::Candidate& best = text.translations[i].candidates.front();
    parts.push_back({{"begin", count_code_points(std::string_view(source).substr(0, begin))},
                     {"end", count_code_points(std::string_view(source).substr(0, end))},
                     {"text", best.text},
                     {"source_tokens", text.translations[i].source_tokens},
                     {"score", best.hypothesis.score},
                     {"log_probability", best.hypothesis.log_probability}});
  }
  return parts;
}

std::string json_line(const std::string& source, const TranslatedText& text, const std::vector<OutputWarning>& warnings,
                      const std::vector<CandidateWords>& candidate_words, const TranslateFlags& flags,
                      std::string_view precision) {
  const Translation& translation = text.whole;
  Json candidates = Json::array(), warned = Json::array();
  for (const OutputWarning& w : warnings) warned.push_back({{"kind", w.kind}, {"message", w.message}});
  for (const Translation::Candidate& c : translation.candidates) {
    candidates.push_back({{"text", c.text},
                          {"score", c.hypothesis.score},
                          {"log_probability", c.hypothesis.log_probability},
                          {"ended", c.hypothesis.finished}});
    const size_t rank = candidates.size() - 1;
    if (flags.word_flags.alignment) {
      Json& links = candidates.back()["alignment"] = Json::array();
      for (const Link& link : candidate_words[rank].alignment) links.push_back({link.source, link.target});
    }
    if (flags.word_flags.scores) candidates.back()["word_scores"] = candidate_words[rank].scores;
  }
  Json json{{"source", source},
            {std::string(flags.words.result), translation.text()},
            {"source_tokens", translation.source_tokens},
            {"cut", translation.truncated},
            {"warnings", std::move(warned)},
            {"precision", precision},
            {"candidates", std::move(candidates)}};
  if (text.parts.size() > 1) json["parts"] = parts_json(source, text);
  return json.dump();
}

std::string quoted(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& word : words) out += (out.empty() ? "\"" : ", \"") + word + "\"";
  return out;
}

std::string text_lines(int64_t number, const Translation& translation, const std::vector<CandidateWords>& words,
                       const WordFlags& flags, bool several) {
  const auto fields = [&](size_t rank) { return flags.any() ? word_fields(words[rank], flags) : ""; };
  if (!several) return translation.text() + fields(0) + "\n";
  std::string out;
  for (size_t rank = 0; rank < translation.candidates.size(); ++rank) {
    const Translation::Candidate& c = translation.candidates[rank];
    out += fmt::format("{} ||| {}{} ||| {:.4f}\n", number, c.text, fields(rank), c.hypothesis.score);
  }
  return out;
}

// The beginnings that translations must have: one for all lines, or a file's line for each.
class Prefixes {
 public:
  explicit Prefixes(const TranslateFlags& flags) : prefix_(flags.prefix) {
    if (!flags.prefixes.empty()) reader_.emplace(flags.prefixes);
  }
  bool any() const { return !prefix_.empty() || reader_; }

  std::vector<ForcedPrefix> ids_for(const std::vector<std::string>& lines, const Translator& translator,
                                    const SearchOptions& search) {
    const int64_t limit =
        translator.max_target() > 0 ? std::min(search.max_length, translator.max_target()) : search.max_length;
    std::vector<ForcedPrefix> all;
    for (const std::string& line : lines) {
      std::string prefix = prefix_;
      check(!reader_ || reader_->next(prefix), "--prefixes: expected a prefix for each line, got {} only",
            reader_ ? counted(reader_->line_number(), "line") : "");
      check(line.find('\n') == std::string::npos, "--prefix: expected texts of one line, got one with a line break");
      ForcedPrefix& forced = all.emplace_back();
      if (prefix.empty()) continue;
      const SharedLine source = translator.tokenise_source(line), target = translator.tokenise_target(prefix);
      for (const int32_t id : translator.target_ids(*source, *target)) forced.push_back({id});
      check(std::ssize(forced) < limit, "--prefix: expected fewer than {} tokens (--max-length), got {}", limit,
            forced.size());
    }
    return all;
  }
  void end() {
    std::string more;
    if (!reader_ || !reader_->next(more)) return;
    fail("{}: expected as many prefixes as there are lines, got more", reader_->place());
  }

 private:
  std::string prefix_;
  std::optional<LineReader> reader_;
};

// Translates lines as they are read, and writes each translation as soon as those before it are written. Warns of each
// truncated source, once of all unknown words and once of all translations that reached the maximum length.
class LineTranslator {
 public:
  explicit LineTranslator(const TranslateFlags& flags) : flags_(flags), output_(flags.output), prefixes_(flags) {}

  void take(const std::vector<std::string>& lines) {
    if (lines.empty()) return;
    if (!translator_) load(lines.front());
    const auto show = [&](int64_t done) {
      console_.live(fmt::format("{} {}", counted(before_ + done, flags_.words.unit), flags_.words.done));
    };
    const auto write = [&](int64_t first, std::span<TranslatedText> texts) {
      std::string text;
      for (size_t i = 0; i < texts.size(); ++i) {
        const int64_t line = first + static_cast<int64_t>(i);
        text += take(before_ + line, lines[static_cast<size_t>(line)], texts[i]);
      }
      console_.finish();
      output_.write(text);
    };
    if (prefixes_.any()) search_.prefixes = prefixes_.ids_for(lines, *translator_, search_);
    translate_paragraphs(*translator_, lines, search_, paragraphs_, write, show);
    console_.finish();
    before_ += static_cast<int64_t>(lines.size());
  }
  void end() {
    if (!translator_ && !flags_.models.empty()) load("");  // a wrong model is an error even without any line
    prefixes_.end();
    if (with_unknown_ > 1) {
      first_unknown_ += fmt::format("; {} with unknown words", counted(with_unknown_ - 1, "more line"));
    }
    if (with_unknown_ > 0) console_.line(first_unknown_);
    if (unfinished_ > 0) {
      console_.line(
          fmt::format("{}: warning: the {} reached its maximum length before its end (--max-length, --max-ratio){}",
                      first_unfinished_, flags_.words.result,
                      unfinished_ > 1 ? fmt::format("; so did {}", counted(unfinished_ - 1, "more line")) : ""));
    }
    output_.commit();
  }

 private:
  // Returns the output for a line, and counts and warns.
  std::string take(int64_t number, const std::string& line, const TranslatedText& text) {
    const Translation& translation = text.whole;
    const std::vector<OutputWarning> warnings = warnings_of(text);
    if (!warnings.empty()) {  // one message a line; a long line may have many
      console_.line(fmt::format(
          "{}: warning: the {} may be wrong: {}{}", place(number), flags_.words.result, warnings.front().message,
          warnings.size() == 1 ? "" : fmt::format(", and {}", counted(std::ssize(warnings) - 1, "more sign"))));
    }
    if (translation.truncated) {
      console_.line(fmt::format("{}: warning: truncated to {} of {} tokens (--max-source)", place(number),
                                thousands(translator_->max_source()), thousands(translation.source_tokens)));
    }
    if (translation.unknown_tokens > 0 && with_unknown_++ == 0) {
      first_unknown_ =
          fmt::format("{}: warning: the model does not know {}", place(number), quoted(translator_->unknown(line)));
      if (const std::string spaced = translator_->spaced(line); !spaced.empty()) {
        first_unknown_ += fmt::format("; it reads single characters, separated by spaces: \"{}\"", spaced);
      }
    }
    if (!translation.candidates.front().hypothesis.finished && unfinished_++ == 0) first_unfinished_ = place(number);
    std::vector<CandidateWords> words;
    for (size_t rank = 0; flags_.word_flags.any() && rank < translation.candidates.size(); ++rank) {
      words.push_back(candidate_words(*translator_, text, rank, flags_.word_flags));
    }
    if (!flags_.json) return text_lines(number + 1, translation, words, flags_.word_flags, several_);
    return json_line(line, text, warnings, words, flags_, computed_precision(*translator_)) + "\n";
  }
  // A summary is shorter than its source and attends to some of it, as it should; it is not empty.
  std::vector<OutputWarning> warnings_of(const TranslatedText& text) const {
    std::vector<OutputWarning> warnings;
    if (flags_.words.task != kTranslate.task) {
      if (text.whole.text().empty() && text.whole.source_tokens > 0) warnings.push_back({"length", "it is empty"});
      return warnings;
    }
    for (size_t i = 0; i < text.parts.size(); ++i) {
      const std::vector<int32_t>& source = text.sources[i]->ids;
      if (source.empty()) continue;
      for (OutputWarning& w : output_warnings(source, text.translations[i].candidates.front().hypothesis)) {
        warnings.push_back(std::move(w));
      }
    }
    return warnings;
  }
  std::string place(int64_t number) const {
    if (!flags_.files.empty()) return flags_.files[static_cast<size_t>(number)];
    const std::string input = !flags_.texts.empty() ? "text" : flags_.input == "-" ? "standard input" : flags_.input;
    return fmt::format("{}:{}", input, number + 1);
  }
  void load(const std::string& first) {
    TranslateFlags chosen = flags_;
    if (chosen.models.empty()) {
      chosen.models = {flags_.words.command == kSummarise.command ? find_model(std::string(kTitles))
                                                                  : model_for(first)};
    }
    if (flags_.models.empty() && flags_.words.task != kTranslate.task) warn_of_language(chosen.models.front(), first);
    translator_.emplace(chosen.load());
    const FolderConfig& config = translator_->model().config;
    search_ = flags_.search_flags.checked_for_model(config);
    several_ = search_.nbest > 1;
    paragraphs_ = flags_.line_flags.prepare(search_, config);
    if (flags_.words.task != kTranslate.task) paragraphs_.split_above = 0;  // a summary is of the whole document
    if (prefixes_.any()) {
      check(flags_.line_flags.split_above <= 0, "--split-above: expected 0 with --prefix, which needs the whole line");
      paragraphs_.split_above = 0;
    }
    search_.capture_weights = flags_.check_attention || flags_.word_flags.alignment;
    const std::vector<AttentionInfo> attentions = translator_->model().model->attentions();
    const bool attends = std::any_of(attentions.begin(), attentions.end(),
                                     [](const AttentionInfo& a) { return a.kind == AttentionKind::kCross; });
    check(attends || !flags_.word_flags.alignment, "--alignment: expected a model that attends to its source, got {}",
          config.model.architecture);
  }

  const TranslateFlags& flags_;
  Output output_;
  Console console_{stderr};
  Prefixes prefixes_;
  std::optional<Translator> translator_;
  SearchOptions search_;  // with the flags and what the model's folder stores
  ParagraphOptions paragraphs_;
  bool several_ = false;  // hypotheses are printed for each line
  int64_t before_ = 0, with_unknown_ = 0, unfinished_ = 0;
  std::string first_unknown_, first_unfinished_;
};

// A file as one line.
std::string document(const std::string& path) {
  LineReader reader(path);
  std::string text;
  for (std::string line; reader.next(line);) {
    if (!line.empty()) text += (text.empty() ? "" : " ") + line;
  }
  return text;
}

int translate(TranslateFlags flags) {
  const std::string command(flags.words.command);
  if (flags.models.empty()) {
    if (const std::string wrong = model_among_texts(command, flags.texts); !wrong.empty()) return misused(wrong);
  }
  if (const std::string hint = unquoted_sentence(command, flags.texts); !hint.empty()) {
    fmt::print(stderr, "{}\n", hint);
  }
  // Before anything is read or typed; without a model, one is chosen by the first line.
  if (flags.models.empty()) check_options(flags.search_flags.for_task(flags.words.task), flag_of);
  LineTranslator translator(flags);
  if (!flags.texts.empty()) {
    for (const std::string& text : flags.texts) {
      std::error_code too_long;  // for the name of a file
      if (!std::filesystem::is_regular_file(text, too_long)) continue;
      fmt::print(stderr, "warning: {} is the name of a file; to {} its contents: --input {}\n", text, command, text);
    }
    translator.take(flags.texts);
    translator.end();
    return kDone;
  }
  if (!flags.files.empty()) {
    std::vector<std::string> documents;
    for (const std::string& file : flags.files) documents.push_back(document(file));
    translator.take(documents);
    translator.end();
    return kDone;
  }
  LineReader reader(flags.input);
  const bool typed = flags.input == "-" && isatty(STDIN_FILENO) == 1;
  if (typed) fmt::print(stderr, "{}; Ctrl-D to finish\n", flags.words.typed);
  const size_t at_once = typed ? 1 : kLinesAtOnce;
  std::vector<std::string> lines;
  for (std::string line; reader.next(line);) {
    lines.push_back(std::move(line));
    if (lines.size() < at_once) continue;
    translator.take(lines);
    lines.clear();
  }
  translator.take(lines);
  translator.end();
  return kDone;
}

}  // namespace

void add_translate(CLI::App& app, Run& run) {
  CLI::App* command = app.add_subcommand("translate", "Translate text, line by line.");
  const auto flags = std::make_shared<TranslateFlags>();
  CLI::Option* texts =
      command->add_option("text", flags->texts, "Text to translate, instead of --input; each argument is one line.");
  texts->type_name("TEXT");
  add_model_flags(*command, *flags);
  command->add_option("-i,--input", flags->input, "File to translate; - for standard input.")
      ->type_name("FILE")
      ->excludes(texts);
  command->add_option("-o,--output", flags->output, "File for the translations; standard output by default.")
      ->type_name("FILE");
  command->add_flag("--json", flags->json, "Print one JSON object per line, with scores and all hypotheses.");
  command->add_flag("--check-attention", flags->check_attention,
                    "Also warn of translations whose attention is on nothing in particular; slower.");
  command->add_flag("--alignment", flags->word_flags.alignment,
                    "Also print the word alignment by attention in Pharaoh format: translation ||| 0-0 1-2 ... "
                    "(source word - target word, from 0).");
  command->add_flag("--word-scores", flags->word_flags.scores,
                    "Also print the log-probability of each word, the sum over its pieces, and last that of the end "
                    "mark: translation ||| -0.1234 ...");
  CLI::Option* prefix =
      command->add_option("--prefix", flags->prefix, "Every translation begins with this text.")->type_name("TEXT");
  command
      ->add_option("--prefixes", flags->prefixes,
                   "File with the text that each translation begins with, line by line; an empty line for any.")
      ->type_name("FILE")
      ->excludes(prefix);
  flags->search_flags.add_to(*command, "Search", flags->words.task);
  flags->line_flags.add_to(*command, "Search");
  command->footer(
      "A translation that repeats itself, or is far too long or short for its source, is reported with its line.\n"
      "Without --model, English is translated to Chinese and Chinese to English by the shipped models.\n"
      "With --nbest above 1, each line of output is: line number (from 1) ||| translation ||| score, with the fields "
      "of\n"
      "--alignment and --word-scores between translation and score. Words are separated by spaces; in scripts without\n"
      "spaces each token is a word. With --prefix, lines are not split into sentences.");
  command->callback([flags, &run] { run = [flags] { return translate(*flags); }; });
}

void add_summarise(CLI::App& app, Run& run) {
  CLI::App* command = app.add_subcommand("summarise", "Summarise documents, one a line or one a file.");
  const auto flags = std::make_shared<TranslateFlags>();
  flags->words = kSummarise;
  CLI::Option* texts =
      command->add_option("text", flags->texts, "Document to summarise, instead of --input; each argument is one.");
  texts->type_name("TEXT");
  add_model_flags(*command, *flags);
  CLI::Option* input =
      command->add_option("-i,--input", flags->input, "File with one document a line; - for standard input.");
  input->type_name("FILE")->excludes(texts);
  command
      ->add_option("--file", flags->files, "A file that is one document, of any number of lines; repeat for several.")
      ->type_name("FILE")
      ->allow_extra_args(false)
      ->excludes(texts)
      ->excludes(input);
  command->add_option("-o,--output", flags->output, "File for the summaries, one a line; standard output by default.")
      ->type_name("FILE");
  command->add_flag("--json", flags->json, "Print one JSON object per document, with scores and all hypotheses.");
  flags->search_flags.add_to(*command, "Search", flags->words.task);
  command->footer(
      "Without --model, the shipped model titles gives an abstract its title.\n"
      "A document that is longer than the model reads is truncated with a warning.");
  command->callback([flags, &run] { run = [flags] { return translate(*flags); }; });
}

}  // namespace fovea::app
