// Long lines are translated sentence by sentence and put together again.
//
// The rule: a line of at most `split_above` source tokens is translated whole. A longer line is split where its
// sentences end (text/sentences.h). A sentence that is longer than the model reads is split further, at the last of its
// semicolons, colons, commas or spaces that leaves a part which the model reads, so that nothing is left out. Line
// breaks inside a text always separate parts. Indentation, blank lines and line breaks are those of the source.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "decode/translator.h"

namespace fovea {

// A part of a text that is translated by itself: its bytes [begin, end), without the white space around it.
struct TextPart {
  size_t begin = 0, end = 0;
};

using CountTokens = std::function<int64_t(std::string_view text)>;

struct SplitLimits {
  int64_t above = 0;    // source tokens of a line that stays whole; 0: lines are never split
  int64_t longest = 0;  // source tokens that the model reads
};

// The parts in the order of the text; one for a text without words, so that every text has a translation.
std::vector<TextPart> split_text(std::string_view text, const SplitLimits& limits, const CountTokens& count);
// The limits and the tokens of a model.
std::vector<TextPart> split_text(std::string_view text, int64_t above, const Translator& translator);

// Joins translations of the parts of a text. What is between two parts is kept where it has a line break; otherwise it
// is a space, or nothing where a translation is written without spaces.
std::string join_parts(std::string_view text, std::span<const TextPart> parts,
                       std::span<const std::string_view> translations);

// The translation of a text from those of its parts. Its n-th candidate joins the n-th candidates of all parts, or the
// last of a part that has fewer; log-probabilities and scores are sums. Attention weights stay with the parts.
Translation join_translations(std::string_view text, std::span<const TextPart> parts,
                              std::span<const Translation> translations);

struct TranslatedText {
  Translation whole;
  std::vector<TextPart> parts;
  std::vector<SharedLine> sources;        // the parts as they were read
  std::vector<Translation> translations;  // of the parts
};

struct ParagraphOptions {
  int64_t split_above = 0;
  // Called with the translation of each part before they are joined, for instance to reorder its candidates.
  std::function<void(Translation&)> rerank;
};

// Translates lines and passes them on in order, as Translator::translate does. `done` receives the number of finished
// lines.
using TakeTexts = std::function<void(int64_t first, std::span<TranslatedText> texts)>;
void translate_paragraphs(const Translator& translator, std::span<const std::string> lines, const SearchOptions& search,
                          const ParagraphOptions& options, const TakeTexts& take,
                          const std::function<void(int64_t)>& done = {});

}  // namespace fovea
