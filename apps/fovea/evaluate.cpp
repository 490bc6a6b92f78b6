// fovea evaluate: the quality of given translations, or of a model that translates a test set.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.h"
#include "base/thousands.h"
#include "decode/paragraphs.h"
#include "evaluate/answers.h"
#include "evaluate/bleu.h"
#include "evaluate/chrf.h"
#include "evaluate/edit.h"
#include "evaluate/references.h"
#include "evaluate/score_table.h"
#include "evaluate/slots.h"
#include "fovea/commands.h"
#include "fovea/console.h"
#include "fovea/evaluate_alignment.h"
#include "fovea/evaluate_answers.h"
#include "fovea/evaluate_captions.h"
#include "fovea/evaluate_classes.h"
#include "fovea/evaluate_summaries.h"
#include "fovea/flags.h"
#include "fovea/output.h"
#include "store/folder_config.h"
#include "store/shipped.h"
#include "store/task_names.h"
#include "text/lines.h"
#include "text/utf8.h"

namespace fovea::app {

namespace {

using Json = nlohmann::ordered_json;

struct EvaluateFlags : ModelFlags {
  std::vector<std::string> references, names;                 // names of metrics: empty to choose by the model's task
  std::string hypotheses, source, output, groups, tokenizer;  // tokenizer: empty to choose by the text
  int64_t lead = -1;      // sentences of the baseline; -1 to choose by the model's task
  std::string documents;  // of CIDEr-D
  std::string images, boxes;
  bool captions = false, by_length = false, several = false, json = false, lowercase = false;
  SearchFlags search_flags;
  LineFlags line_flags;
  SearchOptions search;  // with the flags and what the model's folder stores
  ParagraphOptions paragraphs;
  bool tune = false, store = false;
  AlignmentTest alignment;
};

// A test set: hypotheses and references.
struct TestSet {
  std::vector<std::string> sources;  // empty when not given
  std::vector<Segment> segments;
  std::vector<std::vector<std::string>> groups;  // for each column of --groups the group of each segment
};

// Reads lines without the check that there is some text: hypotheses may be empty.
std::vector<std::string> all_lines(const std::string& path) {
  LineReader reader(path);
  std::vector<std::string> lines;
  for (std::string line; reader.next(line);) lines.push_back(line);
  return lines;
}

// The metrics of one name: most are one number.
std::vector<Metric> metrics_named(const std::string& name, const BleuOptions& bleu) {
  using Segments = std::span<const Segment>;
  if (name == "bleu") return {{"BLEU", [bleu](Segments s) { return corpus_bleu(s, bleu).score; }}};
  if (name == "chrf") {
    return {{"chrF", [c = bleu.lowercase](Segments s) { return corpus_chrf(s, {.lowercase = c}).score; }}};
  }
  if (name == "wer") return {{"WER", [](Segments s) { return word_error_rate(s).percent(); }}};
  if (name == "cer") return {{"CER", [](Segments s) { return character_error_rate(s).percent(); }}};
  if (name == "per") return {{"PER", [](Segments s) { return position_independent_error_rate(s).percent(); }}};
  if (name == "slots") {
    return {{"value F1", [](Segments s) { return slot_score(s).values.f1(); }},
            {"pair F1", [](Segments s) { return slot_score(s).pairs.f1(); }}};
  }
  if (name == "rouge") return rouge_metrics();
  if (name == "distinct") return distinct_metrics();
  return {{"exact", exact_match}};
}

Json json_of(const FScore& score) {
  return {{"f1", score.f1()}, {"precision", score.precision()}, {"recall", score.recall()}};
}

// The score of a metric as JSON: a number, or an object for a metric of several numbers.
Json score_json(const std::string& name, std::span<const Segment> segments, const BleuOptions& bleu) {
  if (name == "slots") {
    const SlotScore score = slot_score(segments);
    return {{"values", json_of(score.values)}, {"pairs", json_of(score.pairs)}};
  }
  if (name == "rouge") return rouge_json(segments);
  if (name == "distinct") return distinct_json(segments);
  return metrics_named(name, bleu).front().score(segments);
}

// The line that reports a score.
std::string score_line(const std::string& name, std::span<const Segment> segments, const BleuOptions& bleu) {
  if (name == "bleu") return corpus_bleu(segments, bleu).line();
  if (name == "slots") return slot_score(segments).line();
  if (name == "rouge") return rouge_line(segments);
  if (name == "distinct") return distinct_line(segments);
  const Metric metric = metrics_named(name, bleu).front();
  return fmt::format("{} = {:.2f}", metric.name, metric.score(segments));
}

std::string signature(const std::string& name, std::span<const Segment> segments, const BleuOptions& bleu) {
  if (name == "bleu") return bleu_signature(segments, bleu);
  if (name == "chrf") return chrf_signature(segments, {.lowercase = bleu.lowercase});
  return "";
}

// Joins lines with the same source into one segment with all their references, as for a word with several
// pronunciations.
void join_same_sources(TestSet& set) {
  TestSet joined;
  joined.groups.resize(set.groups.size());
  std::map<std::string, size_t> places;
  for (size_t i = 0; i < set.sources.size(); ++i) {
    const auto [place, fresh] = places.emplace(set.sources[i], joined.segments.size());
    if (fresh) {
      for (size_t c = 0; c < set.groups.size(); ++c) joined.groups[c].push_back(set.groups[c][i]);
      joined.sources.push_back(set.sources[i]);
      joined.segments.push_back(std::move(set.segments[i]));
    } else {
      auto& references = joined.segments[place->second].references;
      for (std::string& r : set.segments[i].references) references.push_back(std::move(r));
    }
  }
  set = std::move(joined);
}

// Reads the groups of all segments, column by column. Columns are separated by tabs.
std::vector<std::vector<std::string>> read_groups(const std::string& path) {
  LineReader reader(path);
  std::vector<std::vector<std::string>> columns;
  for (std::string line; reader.next(line);) {
    std::vector<std::string> names(1);
    for (const char c : line) {
      if (c == '\t') {
        names.emplace_back();
      } else {
        names.back() += c;
      }
    }
    if (reader.line_number() == 1) columns.resize(names.size());
    check(names.size() == columns.size(), "{}: expected {} as in line 1, got {}", reader.place(),
          counted(std::ssize(columns), "column"), names.size());
    for (size_t c = 0; c < names.size(); ++c) columns[c].push_back(names[c].empty() ? "(none)" : std::move(names[c]));
  }
  return columns;
}

TestSet read_set(const EvaluateFlags& flags) {
  TestSet set;
  // The lines that references are counted against: sources, or hypotheses alone.
  const std::string& first = flags.source.empty() ? flags.hypotheses : flags.source;
  ReferencedText text = read_referenced(first, flags.references);
  const size_t count = text.sources.size();
  std::vector<std::string> hypotheses;
  if (!flags.hypotheses.empty()) hypotheses = flags.source.empty() ? text.sources : all_lines(flags.hypotheses);
  check(flags.hypotheses.empty() || hypotheses.size() == count, "{}: expected {} lines, as {} has, got {}",
        flags.hypotheses, count, first, hypotheses.size());
  if (!flags.source.empty()) set.sources = std::move(text.sources);
  hypotheses.resize(count);
  for (size_t i = 0; i < count; ++i) {
    set.segments.push_back({std::move(hypotheses[i]), std::move(text.references[i])});
  }
  if (!flags.groups.empty()) {
    set.groups = read_groups(flags.groups);
    const size_t lines = set.groups.empty() ? 0 : set.groups.front().size();
    check(lines == count, "{}: expected {} lines, as {} has, got {}", flags.groups, count, first, lines);
  }
  if (flags.several) join_same_sources(set);
  return set;
}

// Metrics and baseline that suit the model's task, where none were chosen.
void choose_metrics(EvaluateFlags& flags) {
  const std::string task = flags.models.empty() ? "" : task_of_model(find_model(flags.models.front()));
  if (flags.lead < 0) flags.lead = task == "summarise" ? 1 : 0;
  if (!flags.names.empty()) return;
  flags.names = {"bleu", "chrf"};
  if (task == "summarise" || (flags.models.empty() && flags.lead > 0)) flags.names = {"rouge"};
  if (task == "dialogue") flags.names = {"bleu", "distinct"};
}

// Translates the sources. `what` is shown with the progress.
std::vector<Translation> translate_all(const EvaluateFlags& flags, const Translator& translator, const TestSet& set,
                                       Console& console, const std::string& what) {
  const auto show = [&](int64_t done) {
    console.live(fmt::format("{}translated {} of {} lines", what, thousands(done),
                             thousands(static_cast<int64_t>(set.sources.size()))));
  };
  std::vector<Translation> translations(set.sources.size());
  const auto take = [&](int64_t first, std::span<TranslatedText> texts) {
    for (size_t i = 0; i < texts.size(); ++i) {
      translations[static_cast<size_t>(first) + i] = std::move(texts[i].whole);
    }
  };
  translate_paragraphs(translator, set.sources, flags.search, flags.paragraphs, take, show);
  console.finish();
  return translations;
}

// Fills in the hypotheses and returns the perplexity of the first references.
double run_models(const EvaluateFlags& flags, const Translator& translator, TestSet& set) {
  Console console(stderr);
  const std::vector<Translation> translations = translate_all(flags, translator, set, console, "");
  Output output(flags.output.empty() ? "/dev/null" : flags.output);
  std::vector<std::string> references;
  for (size_t i = 0; i < translations.size(); ++i) {
    set.segments[i].hypothesis = translations[i].text();
    references.push_back(set.segments[i].references.front());
    output.write(translations[i].text() + "\n");
    if (translations[i].truncated) {
      console.line(fmt::format("{}:{}: warning: truncated to {} tokens", flags.source, i + 1, translator.max_source()));
    }
  }
  output.commit();
  double total = 0;
  size_t tokens = 0;
  for (const Hypothesis& s :
       translator.score(translator.tokenise_source(set.sources), translator.tokenise_target(references))) {
    total += s.log_probability;
    tokens += s.log_probs.size();
  }
  return std::exp(-total / static_cast<double>(tokens));
}

// Whether most lines have Chinese characters.
template <class Lines> bool is_chinese(const Lines& lines, const auto& text_of) {
  size_t chinese = 0;
  for (const auto& line : lines) chinese += has_han(text_of(line)) ? 1 : 0;
  return 2 * chinese > lines.size();
}

bool references_are_chinese(const TestSet& set) {
  return is_chinese(set.segments, [](const Segment& s) -> const std::string& { return s.references.front(); });
}

bool scores_bleu(const EvaluateFlags& flags) {
  return std::find(flags.names.begin(), flags.names.end(), "bleu") != flags.names.end();
}

// The tokenizer of the flags, or the one that suits the references; prints a message where that is not the default.
std::string choose_tokenizer(const EvaluateFlags& flags, const TestSet& set) {
  const bool chinese = references_are_chinese(set);
  if (flags.tokenizer.empty()) {
    if (chinese && scores_bleu(flags)) {
      fmt::print(stderr, "the references are Chinese: BLEU uses the zh tokenizer (--tokenizer chooses another)\n");
    }
    return chinese ? "zh" : "13a";
  }
  const bool splits_at_spaces = flags.tokenizer == "13a" || flags.tokenizer == "none";
  if (chinese && splits_at_spaces && scores_bleu(flags)) {
    fmt::print(stderr, "warning: with --tokenizer {}, BLEU counts Chinese text without spaces as one word; use zh\n",
               flags.tokenizer);
  }
  return flags.tokenizer;
}

void print_by_length(const EvaluateFlags& flags, const TestSet& set, std::span<const Metric> metrics) {
  const bool chinese = is_chinese(set.sources, [](const std::string& source) -> const std::string& { return source; });
  const Tokenizer tokenizer = tokenizer_named(!flags.tokenizer.empty() ? flags.tokenizer : chinese ? "zh" : "13a");
  std::vector<int64_t> lengths;
  for (const std::string& source : set.sources) {
    lengths.push_back(static_cast<int64_t>(tokenize(source, tokenizer).size()));
  }
  fmt::print("\n{}", by_length(set.segments, lengths, metrics).text());
}

// The scores of each group, by its name.
Json json_of_groups(const EvaluateFlags& flags, const TestSet& set, const std::vector<std::string>& column,
                    const BleuOptions& bleu) {
  std::map<std::string, std::vector<Segment>> groups;
  for (size_t i = 0; i < column.size(); ++i) groups[column[i]].push_back(set.segments[i]);
  Json json = Json::object();
  for (const auto& [group, segments] : groups) {
    Json& scores = json[group] = {{"segments", segments.size()}};
    for (const std::string& name : flags.names) scores[name] = score_json(name, segments, bleu);
  }
  return json;
}

// One search that --tune tries, and its score.
struct Trial {
  int64_t beam;
  double length_penalty, score;
};

// Tries beam sizes and length penalties and sets the search to the best. Of trials that differ by less than
// kIndistinct, the one with the smallest beam is taken, because it is the fastest.
Json tune(EvaluateFlags& flags, const Translator& translator, TestSet set, const Metric& metric) {
  constexpr int64_t kBeams[] = {1, 2, 4, 8};
  constexpr double kPenalties[] = {0, 0.3, 0.6, 1, 1.5, 2};
  constexpr double kIndistinct = 0.05;
  Console console(stderr);
  std::vector<Trial> trials;
  for (const int64_t beam : kBeams) {
    for (const double penalty : kPenalties) {
      if (beam == 1 && penalty > 0) continue;  // has no effect without beams
      flags.search.beam = beam;
      flags.search.length_penalty = penalty;
      const std::string what = fmt::format("beam {}, length penalty {}: ", beam, penalty);
      const std::vector<Translation> translations = translate_all(flags, translator, set, console, what);
      for (size_t i = 0; i < translations.size(); ++i) set.segments[i].hypothesis = translations[i].text();
      trials.push_back({beam, penalty, metric.score(set.segments)});
      if (!flags.json)
        fmt::print("beam {}  length penalty {:3.1f}  {} {:.2f}\n", beam, penalty, metric.name, trials.back().score);
    }
  }
  const auto highest =
      std::max_element(trials.begin(), trials.end(), [](const Trial& a, const Trial& b) { return a.score < b.score; });
  const Trial* best = &*highest;
  for (const Trial& trial : trials) {
    const bool as_good = trial.score > highest->score - kIndistinct;
    if (as_good && (trial.beam < best->beam || (trial.beam == best->beam && trial.score > best->score))) best = &trial;
  }
  flags.search.beam = best->beam;
  flags.search.length_penalty = best->length_penalty;
  if (!flags.json) fmt::print("best: --beam {} --length-penalty {}\n\n", best->beam, best->length_penalty);
  Json list = Json::array();
  for (const Trial& trial : trials) {
    list.push_back({{"beam", trial.beam}, {"length_penalty", trial.length_penalty}, {"score", trial.score}});
  }
  return {{"metric", metric.name},
          {"trials", std::move(list)},
          {"beam", best->beam},
          {"length_penalty", best->length_penalty}};
}

// Stores the search in the folders of the models, as their default.
void store_search(const EvaluateFlags& flags) {
  for (const std::string& model : flags.models) {
    const std::string folder = find_model(model);
    DecodingDefaults defaults = read_folder_config(folder).decoding;
    defaults.beam = flags.search.beam;
    defaults.length_penalty = flags.search.length_penalty;
    defaults.split_above = flags.paragraphs.split_above;
    store_decoding_defaults(folder, defaults);
    fmt::print(stderr, "stored beam {}, length penalty {} and splitting above {} tokens as the defaults of {}\n",
               defaults.beam, defaults.length_penalty, defaults.split_above, folder);
  }
}

// The flags of --alignment, and those that it shares with the evaluation of text.
int evaluate_links(const EvaluateFlags& flags) {
  AlignmentTest test = flags.alignment;
  check(
      !flags.hypotheses.empty() || (flags.models.size() == 1 && !flags.source.empty() && flags.references.size() == 1),
      "evaluate: --alignment needs --hypotheses with alignments, or one --model with --source and --references");
  test.hypotheses = flags.hypotheses;
  test.source = flags.source;
  if (!flags.references.empty()) test.target = flags.references.front();
  test.json = flags.json;
  return evaluate_alignment(test, flags);
}

int evaluate(EvaluateFlags flags) {
  if (!flags.alignment.gold.empty()) return evaluate_links(flags);
  if (flags.captions) {
    check(!flags.hypotheses.empty() && flags.references.size() == 1,
          "evaluate: --captions needs --hypotheses and one file of --references");
    return evaluate_captions({flags.hypotheses, flags.references.front(), flags.documents, flags.json});
  }
  const std::string task = flags.models.empty() ? "" : task_of_model(find_model(flags.models.front()));
  check(flags.documents.empty() || task == "caption", "--document-frequencies: expected --captions, too");
  check(flags.boxes.empty() || task == "caption", "--boxes: expected --model with a model of the task caption");
  check(flags.images.empty() || task == "caption" || task == "classify-images",
        "--images: expected --model with a model of the task caption or classify-images");
  check(task.empty() || is_text_to_text(task) || (!flags.tune && !flags.store),
        "--tune and --store: expected a model that turns text into text, got one of the task {}", task);
  const std::string answer_metrics = answer_metrics_among(flags.names);
  if (task == "answer") {
    return evaluate_answers({flags.source, flags.output, answer_metrics, flags.json}, flags.for_predictor());
  }
  check(answer_metrics.empty(), "--metrics: {} is for models of the task answer", answer_metrics);
  if (task == "caption") {
    check(flags.references.size() == 1, "evaluate: a model of the task caption needs one file of --references");
    return evaluate_captioner(
        {flags.references.front(), flags.images, flags.boxes, flags.output, flags.documents, flags.json,
         flags.search_flags.checked_for_model(read_folder_config(find_model(flags.models.front())))},
        flags.for_predictor());
  }
  if (task == "classify") {
    return evaluate_classes({flags.source, flags.output, flags.json}, flags.for_predictor());
  }
  if (task == "classify-images") {
    return evaluate_image_classes({flags.source, flags.output, flags.json}, flags.images, flags.for_predictor());
  }
  check(!flags.references.empty() || !flags.source.empty(),
        "evaluate: expected --references, or --source with a TSV file that has both sides");
  const bool only_lead = flags.models.empty() && flags.hypotheses.empty() && flags.lead > 0;
  check(only_lead || flags.models.empty() != flags.hypotheses.empty(),
        "evaluate: expected either --hypotheses or --model, got {}", flags.models.empty() ? "neither" : "both");
  check(flags.models.empty() || !flags.source.empty(), "evaluate: --model needs --source");
  check(flags.lead <= 0 || !flags.source.empty(), "evaluate: --lead needs --source");
  check(!flags.several || !flags.source.empty(), "evaluate: --join-sources needs --source");
  check(!flags.by_length || !flags.source.empty(), "evaluate: --by-length needs --source");
  check(!flags.models.empty() || (!flags.tune && !flags.store), "evaluate: --tune and --store need --model");
  check(!flags.store || flags.line_flags.mbr == 0, "evaluate: --store cannot store --mbr");
  choose_metrics(flags);
  TestSet set = read_set(flags);
  Json json{{"segments", set.segments.size()}};
  if (!flags.models.empty()) {
    const FolderConfig config = read_folder_config(find_model(flags.models.front()));
    flags.search = flags.search_flags.checked_for_model(config);
    flags.paragraphs = flags.line_flags.prepare(flags.search, config);
    const Translator translator = flags.load();
    if (flags.tune) {
      check(!flags.search.sample && flags.line_flags.mbr == 0, "evaluate: --tune is for beam search");
      const BleuOptions bleu{.tokenizer = tokenizer_named(choose_tokenizer(flags, set)), .lowercase = flags.lowercase};
      json["tuned"] = tune(flags, translator, set, metrics_named(flags.names.front(), bleu).front());
    }
    json["perplexity"] = run_models(flags, translator, set);
    if (flags.store) store_search(flags);
  }
  std::vector<Segment> lead;
  if (flags.lead > 0) lead = lead_segments(set.sources, set.segments, flags.lead);
  if (only_lead) set.segments = std::exchange(lead, {});
  const BleuOptions bleu{.tokenizer = tokenizer_named(choose_tokenizer(flags, set)), .lowercase = flags.lowercase};
  std::vector<Metric> metrics;
  for (const std::string& name : flags.names) {
    for (Metric& metric : metrics_named(name, bleu)) metrics.push_back(std::move(metric));
    json[name] = score_json(name, set.segments, bleu);
    if (const std::string text = signature(name, set.segments, bleu); !text.empty()) json[name + "_signature"] = text;
  }
  if (!lead.empty()) json["lead"] = rouge_json(lead);
  if (flags.json) {
    for (const auto& column : set.groups) json["groups"].push_back(json_of_groups(flags, set, column, bleu));
    fmt::print("{}\n", json.dump(2));
    return kDone;
  }
  fmt::print("{}\n", counted(std::ssize(set.segments), "segment"));
  for (const std::string& name : flags.names) {
    const std::string text = signature(name, set.segments, bleu);
    fmt::print("{}{}\n", score_line(name, set.segments, bleu), text.empty() ? "" : "  [" + text + "]");
  }
  if (!lead.empty()) {
    fmt::print("{}  [baseline: the first {}of each source]\n", rouge_line(lead),
               flags.lead == 1 ? "sentence " : counted(flags.lead, "sentence") + " ");
  }
  if (json.contains("perplexity")) fmt::print("perplexity = {:.3f}\n", json["perplexity"].get<double>());
  if (flags.by_length) print_by_length(flags, set, metrics);
  for (const auto& column : set.groups) fmt::print("\n{}", by_group(set.segments, column, metrics).text());
  return kDone;
}

}  // namespace

void add_evaluate(CLI::App& app, Run& run) {
  CLI::App* command = app.add_subcommand(
      "evaluate",
      "Evaluate translations, summaries, replies or captions: BLEU and chrF (as sacreBLEU), ROUGE, CIDEr-D, error "
      "rates.");
  const auto flags = std::make_shared<EvaluateFlags>();
  command->add_option("--hypotheses", flags->hypotheses, "Translations to evaluate, one per line.")->type_name("FILE");
  add_model_flags(*command, *flags)
      ->description(
          "Evaluate a model on --source instead: a model folder or the name of a shipped model; repeat for an "
          "ensemble.");
  command
      ->add_option(
          "-r,--references", flags->references,
          "Reference translations; several files for several references, or a JSON array of references a line.")
      ->type_name("FILE");
  command->add_option("-s,--source", flags->source, "Source text; without --references, a TSV file with both sides.")
      ->type_name("FILE");
  command->add_option("-o,--output", flags->output, "With --model: file for the translations.")->type_name("FILE");
  command
      ->add_option("--metrics", flags->names,
                   "Metrics, separated by commas. rouge: ROUGE-1, 2 and L; distinct: the share of different words and "
                   "pairs of words; squad, cmrc: exact match and F1 of answers, by default by the "
                   "language; slots: F1 of lines `slot = value ; slot = value`. By default bleu,chrf; for a model "
                   "of the task summarise rouge, of the task dialogue bleu,distinct.")
      ->delimiter(',')
      ->check(
          CLI::IsMember({"bleu", "chrf", "wer", "cer", "per", "exact", "rouge", "distinct", "slots", "squad", "cmrc"}));
  command
      ->add_option("--lead", flags->lead,
                   "Also score the first N sentences of each source by ROUGE, the baseline of summarisation; 0 to "
                   "disable. By default 1 for a model of the task summarise, otherwise 0. Without --hypotheses and "
                   "--model only these are scored.")
      ->type_name("N")
      ->check(at_least(0));
  command
      ->add_option("--tokenizer", flags->tokenizer,
                   "Tokenizer for BLEU; by default zh if the references are Chinese, 13a otherwise.")
      ->check(CLI::IsMember(tokenizer_names()));
  command->add_flag("--lowercase", flags->lowercase, "Ignore case (bleu, chrf).");
  command->add_flag("--by-length", flags->by_length, "Also print a table of scores by source length.");
  command
      ->add_option(
          "--groups", flags->groups,
          "Also print a table of scores by group. The file names the group of each line; with several columns, "
          "separated by tabs, there is a table for each.")
      ->type_name("FILE");
  command->add_flag("--join-sources", flags->several,
                    "Merge lines with the same source into one with several references.");
  command
      ->add_option(
          "--alignment", flags->alignment.gold,
          "Evaluate word alignments against this gold standard instead (0-0 1?2 ...; ? for possible links): those in "
          "--hypotheses, or those of each head of --model when it is forced to produce --references.")
      ->type_name("GOLD");
  command->add_flag("--captions", flags->captions,
                    "Evaluate captions of images: BLEU-1 to 4, ROUGE-L and CIDEr-D as coco-caption computes them, all "
                    "times 100. --references has lines `image<TAB>caption`, several an image, or COCO's JSON; "
                    "--hypotheses the same with one caption an image, or a caption a line in the order of the images.");
  command
      ->add_option("--images", flags->images,
                   "Tasks caption and classify-images: folder of the pictures that --references or --source names.")
      ->type_name("DIR");
  command
      ->add_option("--boxes", flags->boxes,
                   "Task caption: JSON lines of where the things are that captions name; also print the pointing game.")
      ->type_name("FILE");
  command
      ->add_option(
          "--document-frequencies", flags->documents,
          "With --captions: captions of other images, whose document frequencies CIDEr-D uses instead of those "
          "of the references.")
      ->type_name("FILE");
  command->add_option("--first", flags->alignment.first, "With --alignment: index of the first word.")
      ->check(CLI::IsMember({0, 1}));
  command->add_flag("--store-best", flags->alignment.store_best,
                    "With --alignment and --model: store in the model's config.json what aligns best, one head or a "
                    "combination of heads, for --heads best.");
  command->add_flag(
      "--tune", flags->tune,
      "With --model: first try beam sizes and length penalties, and take those with the best value of the "
      "first metric. On validation text, not on a test set.");
  command->add_flag(
      "--store", flags->store,
      "With --model: store beam size, length penalty and --split-above in the model's config.json, as the "
      "defaults of translate, evaluate, view and serve.");
  command->add_flag("--json", flags->json, "Print the results as JSON.");
  flags->search_flags.add_to(*command, search_group("Search"));
  flags->line_flags.add_to(*command, "Search of lines");
  command->callback([flags, &run] { run = [flags] { return evaluate(*flags); }; });
}

}  // namespace fovea::app
