// fovea translate: lines in, translations out, one for each, in order.
#include <fmt/format.h>
#include <unistd.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "base/thousands.h"
#include "fovea/commands.h"
#include "fovea/console.h"
#include "fovea/flags.h"
#include "fovea/output.h"
#include "text/lines.h"

namespace fovea::app {

namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kLinesAtOnce = 4096;  // enough to sort by length

struct TranslateFlags : ModelFlags {
  std::string input = "-", output;
  bool json = false;
  SearchOptions search;
};

std::string json_line(const std::string& source, const Translation& translation) {
  Json candidates = Json::array();
  for (const Translation::Candidate& c : translation.candidates) {
    candidates.push_back({{"text", c.text},
                          {"score", c.hypothesis.score},
                          {"log_probability", c.hypothesis.log_probability},
                          {"ended", c.hypothesis.ended}});
  }
  return Json{{"source", source},
              {"translation", translation.text()},
              {"source_tokens", translation.source_tokens},
              {"cut", translation.cut},
              {"candidates", std::move(candidates)}}
      .dump();
}

std::string text_lines(int64_t number, const Translation& translation, bool several) {
  if (!several) return translation.text() + "\n";
  std::string out;
  for (const Translation::Candidate& c : translation.candidates) {
    out += fmt::format("{} ||| {} ||| {:.4f}\n", number, c.text, c.hypothesis.score);
  }
  return out;
}

int translate(const TranslateFlags& flags) {
  const Translator translator = flags.load();
  LineReader reader(flags.input);
  Output output(flags.output);
  Console console(stderr);
  const bool typed = flags.input == "-" && isatty(STDIN_FILENO) == 1;
  const size_t at_once = typed ? 1 : kLinesAtOnce;
  int64_t before = 0;
  std::vector<std::string> lines;
  const auto flush = [&] {
    const auto show = [&](int64_t done) { console.live(fmt::format("{} lines translated", thousands(before + done))); };
    const std::vector<Translation> translations = translator.translate(lines, flags.search, show);
    std::string text;
    for (size_t i = 0; i < lines.size(); ++i) {
      const int64_t number = before + static_cast<int64_t>(i);
      if (translations[i].cut) {
        console.line(fmt::format("{}:{}: warning: {} tokens, more than the {} that are read; the rest was cut off",
                                 flags.input == "-" ? "standard input" : flags.input, number + 1,
                                 translations[i].source_tokens, translator.most_source()));
      }
      text += flags.json ? json_line(lines[i], translations[i]) + "\n"
                         : text_lines(number, translations[i], flags.search.nbest > 1);
    }
    console.finish();
    output.write(text);
    before += static_cast<int64_t>(lines.size());
    lines.clear();
  };
  for (std::string line; reader.next(line);) {
    lines.push_back(std::move(line));
    if (lines.size() == at_once) flush();
  }
  if (!lines.empty()) flush();
  output.commit();
  return kDone;
}

}  // namespace

void add_translate(CLI::App& app, Run& run) {
  CLI::App* command = app.add_subcommand("translate", "Translate lines of text: one line out for every line in.");
  const auto flags = std::make_shared<TranslateFlags>();
  add_model_flags(*command, *flags)->required();
  command->add_option("-i,--input", flags->input, "Text to translate; - for standard input.")->type_name("FILE");
  command->add_option("-o,--output", flags->output, "Where translations go; standard output if not given.")
      ->type_name("FILE");
  command->add_flag("--json", flags->json, "One JSON object a line, with scores and flags.");
  add_flags(*command, flags->search, "Search");
  command->footer("With --nbest above 1, text output is: line number ||| translation ||| score.");
  command->callback([flags, &run] { run = [flags] { return translate(*flags); }; });
}

}  // namespace fovea::app
