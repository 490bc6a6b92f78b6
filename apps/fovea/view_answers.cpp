#include "fovea/view_answers.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "fovea/console.h"
#include "fovea/passage.h"
#include "tasks/reader.h"
#include "text/utf8.h"
#include "view/terminal_text.h"

namespace fovea::app {

namespace {

constexpr std::string_view kOpen = "⟦", kClose = "⟧";

// The byte at which a character of the text begins.
size_t byte_of(const std::string& text, int64_t character) {
  size_t byte = 0;
  for (; character > 0 && byte < text.size(); --character) byte = code_point_at(text, byte).end;
  return byte;
}

void mark(std::vector<Label>& labels, const AttentionRecord& record) {
  if (labels.size() != record.source.size()) return;  // subwords were merged into words
  const auto inside = [&](const RecordToken& token) {
    return token.begin < record.answer->end && token.end > record.answer->begin;
  };
  const auto first = std::find_if(record.source.begin(), record.source.end(), inside);
  if (first == record.source.end()) return;
  const auto last = std::find_if(record.source.rbegin(), record.source.rend(), inside);
  labels[static_cast<size_t>(first - record.source.begin())].text.insert(0, kOpen);
  labels[static_cast<size_t>(record.source.rend() - last) - 1].text += kClose;
}

}  // namespace

void each_answered(const ViewFlags& flags, const std::function<void(AttentionRecord&)>& take) {
  check(!flags.passage.empty(), "view: a model of the task answer needs --passage FILE");
  check(!flags.what.empty(), "view: expected a question about the passage");
  check(flags.target.empty() && flags.input.empty(), "view: expected questions as arguments, not --target or --input");
  check(!flags.scores, "--scores: expected a model from text to text; a reader's record has weights only");
  const std::string passage = read_passage(flags.passage);
  const PredictorFlags predictor = flags.for_predictor();
  const Reader reader(predictor.prepare("answer"), predictor.options);
  Console console(stderr);
  for (size_t i = 0; i < flags.what.size(); ++i) {
    const std::vector<PassageQuestion> question = {{passage, flags.what[i]}};
    Reading reading = reader.answer(question, {.nbest = 1, .capture_weights = true}).front();
    check(reading.record.has_value(), "view: expected a passage and a question with text, got an empty one");
    if (reading.windows > 1) {
      console.line(fmt::format("the passage was read in {} windows; the picture is of the one with the answer",
                               reading.windows));
    }
    reading.record->line = static_cast<int64_t>(i) + 1;
    take(*reading.record);
  }
}

std::string answer_text(const AttentionRecord& record, const TerminalStyle& terminal) {
  const std::string& passage = record.source_text;
  const size_t begin = byte_of(passage, record.answer->begin), end = byte_of(passage, record.answer->end);
  const bool colour = terminal.colour != TerminalStyle::Colour::kNone;
  const std::string open = colour ? "\x1b[1;7m" : terminal.unicode ? std::string(kOpen) : "[[";
  const std::string close = colour ? "\x1b[0m" : terminal.unicode ? std::string(kClose) : "]]";
  const auto shown = [&](const std::string& text) { return harmless(text, !terminal.unicode); };
  return fmt::format("question: {}\nanswer: {} ({:.1f}%)\npassage: {}{}{}{}{}\n", shown(record.target_text),
                     shown(record.answer->text), 100 * record.answer->probability, shown(passage.substr(0, begin)),
                     open, shown(passage.substr(begin, end - begin)), close, shown(passage.substr(end)));
}

void mark_answer(Grid& grid, const AttentionRecord& record) {
  grid.title = fmt::format("{} {:.1f}%: {}", record.answer->text, 100 * record.answer->probability, grid.title);
  if (grid.column_name == "passage") mark(grid.columns, record);
  if (grid.row_name == "passage" && !grid.named_rows) mark(grid.rows, record);
}

}  // namespace fovea::app
