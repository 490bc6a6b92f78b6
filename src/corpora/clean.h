// Cleans a parallel corpus: drops pairs that do not help a model to learn, each with one reason, and counts them.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "base/fields.h"
#include "corpora/pairs.h"

namespace fovea {

struct CleanOptions {
  int64_t min_length = 1, max_length = 200;
  double max_ratio = 3;
  std::string duplicates = "drop", identical = "drop", markup = "drop", language = "drop";
  double script = 0.4;

  void describe(Fields& fields);
};

// The texts of test and validation sets. Lines are compared without case, punctuation and spaces.
class HeldOutTexts {
 public:
  void add(const std::string& path);  // of plain lines, or of columns between tabs
  bool contains(std::string_view text) const;
  bool empty() const { return texts_.empty(); }

 private:
  std::unordered_set<uint64_t> texts_;
};

// Uses some 40 bytes of memory for each pair that it has accepted, to know duplicates.
class Cleaner {
 public:
  Cleaner(const CleanOptions& options, std::string source_language, std::string target_language, HeldOutTexts held_out);

  // Returns why the pair is dropped, or an empty text if it stays. Strips markup from the pair if the options say so.
  std::string_view reason_to_drop(TextPair& pair);

 private:
  std::string_view wrong_side(std::string_view text, const std::string& language) const;
  bool is_duplicate(const TextPair& pair);

  CleanOptions options_;
  std::string source_language_, target_language_;
  HeldOutTexts held_out_;
  std::unordered_set<uint64_t> seen_;
};

// Words, and in scripts without spaces between words, characters.
int64_t text_length(std::string_view text);

// Whether the text has tags (<b>, </p>, <br/>) or character references (&nbsp;).
bool has_markup(std::string_view text);
// The text without tags and with the commonest character references replaced.
std::string without_markup(std::string_view text);

}  // namespace fovea
