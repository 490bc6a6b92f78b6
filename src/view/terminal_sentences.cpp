// Prints sentences whose words are shaded by weight: for each word of the other sentence, and step by step.
#include <fmt/format.h>

#include <algorithm>

#include "view/terminal_page.h"
#include "view/terminal_text.h"

namespace fovea {

namespace {

constexpr int64_t kLongestHead = 24;   // columns of the word before a sentence
constexpr float kWorthANumber = 0.1F;  // without colours, smaller weights are printed only if they are the largest

constexpr float kWorthMentioning = 0.005F;  // the smallest weight that is not 0.00 with two digits

struct Sentence {
  const std::vector<Label>& labels;
  std::vector<float> weights;  // of each label

  size_t strongest() const {
    size_t most = weights.size();
    for (size_t i = 0; i < weights.size(); ++i) {
      if (weights[i] >= kWorthMentioning && (most == weights.size() || weights[i] > weights[most])) most = i;
    }
    return most;
  }
};

Sentence row_of(const Grid& grid, int64_t row) {
  Sentence sentence{grid.columns, {}};
  for (int64_t column = 0; column < grid.width(); ++column) sentence.weights.push_back(grid.at(row, column));
  return sentence;
}

Sentence column_of(const Grid& grid, int64_t column) {
  Sentence sentence{grid.rows, {}};
  for (int64_t row = 0; row < grid.height(); ++row) sentence.weights.push_back(grid.at(row, column));
  return sentence;
}

// A word of a sentence. Where colours show spaces, they are printed as spaces.
std::string word_text(const TerminalPage& page, const Label& label) {
  const bool spaces = !label.text.empty() && label.text.find_first_not_of(' ') == std::string::npos;
  return spaces && page.coloured() ? label.text : label_text(page, label);
}

std::string marked(const std::string& word, float weight, bool strongest) {
  if (is_absent(weight)) return fmt::format("({})", word);
  return strongest || weight >= kWorthANumber ? fmt::format("[{} {}]", word, short_weight(weight)) : word;
}

bool any_rtl(const std::vector<Label>& labels) {
  return std::any_of(labels.begin(), labels.end(), [](const Label& label) { return has_rtl(label.text); });
}

bool reads_rtl(const std::vector<Label>& labels) {
  std::string text;
  for (const Label& label : labels) text += label.text + " ";
  return is_rtl(text);
}

void put_word(TerminalPage& page, const Label& label, std::string_view shown, const Ink& ink, int64_t indent) {
  if (label.space_before || label.mark)
    page.flow_word(shown, ink, indent);
  else
    page.flow(shown, ink, indent);
}

void draw_sentence(TerminalPage& page, const WeightScale& scale, const Sentence& sentence, int64_t indent) {
  page.move_to(indent);
  page.begin_sentence(reads_rtl(sentence.labels), any_rtl(sentence.labels));
  const size_t strongest = sentence.strongest();
  for (size_t i = 0; i < sentence.labels.size(); ++i) {
    const Label& label = sentence.labels[i];
    const float weight = sentence.weights[i];
    const std::string word = word_text(page, label);
    const std::string shown = page.coloured() ? word : marked(word, weight, i == strongest);
    put_word(page, label, shown, word_ink(page, scale, weight), indent);
  }
  page.end_sentence();
  page.end_line();
}

// Prints a word and the shaded other sentence in two columns.
class Pairs {
 public:
  Pairs(TerminalPage& page, const WeightScale& scale, const std::vector<Label>& heads) : page_(page), scale_(scale) {
    for (const Label& label : heads) head_ = std::max(head_, display_width(label_text(page, label)));
    head_ = std::min({head_, kLongestHead, page.width() / 3});
  }

  void draw(const Label& head, const Sentence& sentence) {
    const std::string text = label_text(page_, head);
    if (display_width(text) > head_) {
      page_.prose(text);  // on a line of its own
    } else {
      page_.write(table_label(page_, text, head_), {.bold = true});
    }
    draw_sentence(page_, scale_, sentence, head_ + 2);
  }

 private:
  TerminalPage& page_;
  const WeightScale& scale_;
  int64_t head_ = 0;
};

// Prints how to read the sentences of a grid.
void draw_key(TerminalPage& page, const WeightScale& scale, const Grid& grid) {
  const bool absent = std::any_of(grid.weights.begin(), grid.weights.end(), is_absent);
  page.end_line();
  if (page.coloured()) return draw_scale(page, scale, absent ? "faint: masked" : "");
  page.prose(fmt::format("[word .83]: its weight, from {} up and for the largest{}", short_weight(kWorthANumber),
                         absent ? "; (word): masked" : ""));
}

void draw_step(TerminalPage& page, const WeightScale& scale, const Grid& grid, int64_t row) {
  constexpr int64_t kIndent = 12;
  const auto field = [&](std::string_view name) { page.write(pad_right(fmt::format("  {}", name), kIndent)); };
  page.write(fmt::format("step {} of {}", row + 1, grid.height()), {.bold = true});
  page.end_line();
  field("output");
  const std::vector<Label> written(grid.rows.begin(), grid.rows.begin() + row + 1);
  page.begin_sentence(reads_rtl(written), any_rtl(written));
  for (size_t i = 0; i < written.size(); ++i) {
    const bool now = i + 1 == written.size();
    const std::string word = label_text(page, written[i]);
    const std::string shown = now && !page.coloured() ? fmt::format("[{}]", word) : word;
    put_word(page, written[i], shown, {.bold = now}, kIndent);
  }
  page.end_sentence();
  page.end_line();
  field("looked at");
  draw_sentence(page, scale, row_of(grid, row), kIndent);
  if (grid.notes.empty()) return;
  const StepNote& note = grid.notes[static_cast<size_t>(row)];
  field("likely");
  page.write(fmt::format("{:.1f}%", 100 * note.probability));
  page.end_line();
  if (note.alternatives.empty()) return;
  field("choices");
  for (size_t i = 0; i < note.alternatives.size(); ++i) {
    const auto& [text, probability] = note.alternatives[i];
    const std::string word = label_text(page, {.text = text});
    page.flow_word(fmt::format("{} {:.1f}%{}", page.terminal().unicode ? isolate(word) : word, 100 * probability,
                               i + 1 < note.alternatives.size() ? "," : ""),
                   {}, kIndent);
  }
  page.end_line();
}

}  // namespace

std::string highlight_text(const Grid& grid, const PictureStyle& picture, const TerminalStyle& terminal) {
  check_grid("highlight", grid, terminal);
  const WeightScale scale(picture, grid);
  TerminalPage page(terminal);
  page.prose(page.safe(grid.title), {.bold = true});
  page.end_line();
  const std::string rows = page.safe(grid.row_name), columns = page.safe(grid.column_name);
  page.prose(grid.named_rows ? fmt::format("{}: what was read of the {}", rows, columns)
                             : fmt::format("{}: what each word of it looked at in the {}", rows, columns),
             {.faint = true});
  Pairs by_row(page, scale, grid.rows);
  for (int64_t i = 0; i < grid.height(); ++i) by_row.draw(grid.rows[static_cast<size_t>(i)], row_of(grid, i));
  if (!grid.named_rows) {
    page.end_line();
    page.prose(fmt::format("{}: the words of the {} that looked at each", columns, rows), {.faint = true});
    Pairs by_column(page, scale, grid.columns);
    for (int64_t i = 0; i < grid.width(); ++i) by_column.draw(grid.columns[static_cast<size_t>(i)], column_of(grid, i));
  }
  draw_key(page, scale, grid);
  return page.take();
}

std::string steps_text(const Grid& grid, const PictureStyle& picture, const TerminalStyle& terminal) {
  check_grid("steps", grid, terminal);
  const WeightScale scale(picture, grid);
  TerminalPage page(terminal);
  page.prose(page.safe(grid.title), {.bold = true});
  for (int64_t row = 0; row < grid.height(); ++row) {
    page.end_line();
    draw_step(page, scale, grid, row);
  }
  draw_key(page, scale, grid);
  return page.take();
}

}  // namespace fovea
