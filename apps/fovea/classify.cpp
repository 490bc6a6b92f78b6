// fovea classify: the class of each line of text, or of each picture.
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/error.h"
#include "base/thousands.h"
#include "fovea/commands.h"
#include "fovea/console.h"
#include "fovea/flags.h"
#include "fovea/mistakes.h"
#include "fovea/output.h"
#include "store/shipped.h"
#include "tasks/image_classifier.h"
#include "tasks/pictures.h"
#include "text/lines.h"
#include "text/utf8.h"

namespace fovea::app {

namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kLinesAtOnce = 16'384;  // lines that are sorted by length and batched together
constexpr size_t kPicturesAtOnce = 32;   // in memory

struct ClassifyFlags : PredictorFlags {
  std::vector<std::string> texts;
  std::string input = "-", output;
  bool json = false;
};

Json classes_json(const Classification& result) {
  Json classes = Json::array();
  for (const ClassProbability& c : result.classes) {
    classes.push_back({{"label", c.label}, {"probability", c.probability}});
  }
  return classes;
}

std::string json_line(const std::string& text, const Classification& result) {
  return Json{{"text", text},
              {"label", result.classes.front().label},
              {"probability", result.classes.front().probability},
              {"classes", classes_json(result)},
              {"tokens", result.tokens},
              {"truncated", result.truncated}}
             .dump() +
         "\n";
}

std::string json_line_of_picture(const std::string& file, const Classification& result) {
  return Json{{"image", file},
              {"label", result.classes.front().label},
              {"probability", result.classes.front().probability},
              {"classes", classes_json(result)}}
             .dump(-1, ' ', false, Json::error_handler_t::replace) +
         "\n";
}

// A picture that cannot be read is named; the others get their classes.
int classify_pictures(const ClassifyFlags& flags) {
  std::vector<std::string> names = flags.texts;
  if (names.empty()) {
    LineReader reader(flags.input);
    for (std::string line; reader.next(line);) {
      if (!line.empty()) names.push_back(line);
    }
  }
  const ImageClassifier classifier(flags.prepare("classify-images"), flags.options);
  Output output(flags.output);
  Console console(stderr);
  int64_t unread = 0;
  for (size_t at = 0; at < names.size(); at += kPicturesAtOnce) {
    std::vector<std::string> files;
    std::vector<Image> images;
    for (size_t i = at; i < std::min(names.size(), at + kPicturesAtOnce); ++i) {
      try {
        images.push_back(network_input(read_image(names[i], classifier.size()), classifier.size()));
        files.push_back(names[i]);
      } catch (const Error& error) {
        console.line(error.what());
        ++unread;
      }
    }
    const std::vector<Classification> results = classifier.classify(images);
    std::string text;
    for (size_t i = 0; i < files.size(); ++i) {
      const ClassProbability& best = results[i].classes.front();
      text += flags.json ? json_line_of_picture(files[i], results[i])
                         : fmt::format("{}{}\t{:.4f}\n", names.size() > 1 ? files[i] + "\t" : "", best.label,
                                       best.probability);
    }
    output.write(text);
    if (names.size() > kPicturesAtOnce) {
      console.live(fmt::format("{} of {} pictures", thousands(static_cast<int64_t>(at + files.size())),
                               thousands(std::ssize(names))));
    }
  }
  console.finish();
  output.commit();
  check(unread == 0 || unread < std::ssize(names), "classify: no picture could be read");
  return unread == 0 ? kDone : kFailed;
}

// Classifies lines as they are read, without --model each by the shipped model of its language. Warns once of all
// truncated lines.
class LineClassifier {
 public:
  explicit LineClassifier(const ClassifyFlags& flags) : flags_(flags), output_(flags.output) {
    if (!flags.model.empty()) load(false, "");  // a wrong model is an error even without any line
  }

  void take(const std::vector<std::string>& lines) {
    std::vector<bool> chinese;
    for (const std::string& line : lines) chinese.push_back(reads_chinese(line));
    const std::vector<Classification> results = classify(lines, chinese);
    std::string text;
    for (size_t i = 0; i < lines.size(); ++i) {
      const Classification& result = results[i];
      const ClassProbability& best = result.classes.front();
      if (result.truncated && truncated_++ == 0) {
        first_truncated_ =
            fmt::format("{}: warning: truncated to {} of {} tokens", place(before_ + static_cast<int64_t>(i)),
                        thousands(classifiers_[chinese[i]]->max_source()), thousands(result.tokens));
      }
      text += flags_.json ? json_line(lines[i], result) : fmt::format("{}\t{:.4f}\n", best.label, best.probability);
    }
    console_.finish();
    output_.write(text);
    before_ += std::ssize(lines);
  }
  void end() {
    if (truncated_ > 1) first_truncated_ += fmt::format("; so were {}", counted(truncated_ - 1, "more line"));
    if (truncated_ > 0) console_.line(first_truncated_);
    output_.commit();
  }

 private:
  // Whether the model of Chinese text is for the line. A line without a word goes with the one before it.
  bool reads_chinese(const std::string& line) {
    if (flags_.model.empty() && line.find_first_not_of(" \t") != std::string::npos) chinese_ = has_han(line);
    return chinese_;
  }
  void load(bool chinese, const std::string& text) {
    const std::string folder = flags_.prepare("classify", text);
    if (flags_.model.empty()) warn_of_language(folder, text);
    classifiers_[chinese].emplace(folder, flags_.options);
  }
  std::vector<Classification> classify(const std::vector<std::string>& lines, const std::vector<bool>& chinese) {
    std::vector<Classification> results(lines.size());
    int64_t before = before_;
    for (const bool wanted : {false, true}) {
      std::vector<std::string> texts;
      std::vector<size_t> places;
      for (size_t i = 0; i < lines.size(); ++i) {
        if (chinese[i] != wanted) continue;
        texts.push_back(lines[i]);
        places.push_back(i);
      }
      if (texts.empty()) continue;
      if (!classifiers_[wanted]) load(wanted, texts.front());
      const auto show = [&](int64_t done) {
        console_.live(fmt::format("{} classified", counted(before + done, "line")));
      };
      std::vector<Classification> some = classifiers_[wanted]->classify(texts, {}, show);
      for (size_t i = 0; i < some.size(); ++i) results[places[i]] = std::move(some[i]);
      before += std::ssize(texts);
    }
    return results;
  }
  std::string place(int64_t number) const {
    const std::string input = !flags_.texts.empty() ? "text" : flags_.input == "-" ? "standard input" : flags_.input;
    return fmt::format("{}:{}", input, number + 1);
  }

  const ClassifyFlags& flags_;
  std::array<std::optional<Classifier>, 2> classifiers_;  // the second for Chinese text
  bool chinese_ = false;
  Output output_;
  Console console_{stderr};
  int64_t before_ = 0, truncated_ = 0;
  std::string first_truncated_;
};

int classify(const ClassifyFlags& flags) {
  if (!flags.model.empty() && task_of_model(find_model(flags.model)) == "classify-images") {
    return classify_pictures(flags);
  }
  if (const std::string hint = unquoted_sentence("classify", flags.texts); !hint.empty()) {
    fmt::print(stderr, "{}\n", hint);
  }
  LineClassifier classifier(flags);
  if (!flags.texts.empty()) {
    for (const std::string& text : flags.texts) {
      std::error_code too_long;  // for the name of a file
      if (!std::filesystem::is_regular_file(text, too_long)) continue;
      fmt::print(stderr, "warning: {} is the name of a file; to classify its lines: --input {}\n", text, text);
    }
    classifier.take(flags.texts);
    classifier.end();
    return kDone;
  }
  LineReader reader(flags.input);
  const bool typed = flags.input == "-" && isatty(STDIN_FILENO) == 1;
  if (typed) fmt::print(stderr, "type one text per line; Ctrl-D to finish\n");
  const size_t at_once = typed ? 1 : kLinesAtOnce;
  std::vector<std::string> lines;
  for (std::string line; reader.next(line);) {
    lines.push_back(std::move(line));
    if (lines.size() < at_once) continue;
    classifier.take(lines);
    lines.clear();
  }
  classifier.take(lines);
  classifier.end();
  return kDone;
}

}  // namespace

void add_classify(CLI::App& app, Run& run) {
  CLI::App* command = app.add_subcommand("classify", "Classify text, line by line, or pictures (JPEG, PNG, WebP).");
  const auto flags = std::make_shared<ClassifyFlags>();
  CLI::Option* texts =
      command->add_option("text", flags->texts,
                          "Text to classify, instead of --input; each argument is one line, or the file of a picture.");
  texts->type_name("TEXT");
  add_predictor_flags(*command, *flags);
  command
      ->add_option("-i,--input", flags->input, "File to classify, or of the names of pictures; - for standard input.")
      ->type_name("FILE")
      ->excludes(texts);
  command->add_option("-o,--output", flags->output, "File for the classes; standard output by default.")
      ->type_name("FILE");
  command->add_flag("--json", flags->json, "Print one JSON object per line, with the probabilities of all classes.");
  command->footer(
      "Without --model, a shipped model for English or for Chinese, as each line is, tells positive from negative:\n"
      "  fovea classify '房间很大，早餐也不错'\n"
      "Each line of output is the likeliest label, a tab, and its probability:\n"
      "  fovea classify -m runs/reviews 'a film to remember' 'two hours of nothing'\n"
      "  fovea classify -m runs/reviews --json < reviews.txt\n"
      "A model of the task classify-images reads pictures; of several, the file is printed before the label:\n"
      "  fovea classify -m runs/shapes photo.jpg\n"
      "Evaluate a classifier on labelled texts, and see which words decided:\n"
      "  fovea evaluate -m runs/reviews -s test.tsv\n"
      "  fovea view -m runs/reviews 'a film to remember'");
  command->callback([flags, &run] { run = [flags] { return classify(*flags); }; });
}

}  // namespace fovea::app
