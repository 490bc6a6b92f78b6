// Pairs of texts as they come out of the files of other tools, and where they go.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace fovea {

class Fields;

struct TextPair {
  std::string source, target;
  std::string place;  // "file:line" or "archive.zip/file:line"
};

// How files are read.
struct ImportOptions {
  std::string source_language, target_language;  // codes such as en, zh-CN; empty where the files need none
  std::string source_column, target_column;      // of tables and JSON; empty to choose by the languages
  bool fuzzy = false;                            // also read translations that are marked as unfinished
  bool no_header = false;                        // of tables
};

// What was read and what was not, and why.
struct ImportReport {
  int64_t pairs = 0;
  std::map<std::string, int64_t> skipped;    // entries by reason
  std::map<std::string, int64_t> languages;  // texts by language code, as the files write it
  std::map<std::string, int64_t> ignored;    // files of an archive that are not corpora, by extension

  void skip(const std::string& reason) { ++skipped[reason]; }
  void saw_language(const std::string& code);
  std::string text() const;  // "read 120 pairs; skipped: 3 untranslated, 1 fuzzy"
};

// Receives what a reader finds.
class PairSink {
 public:
  virtual ~PairSink() = default;
  virtual void take(TextPair pair) = 0;
};

// Where a reader of a format writes: passes pairs on as single lines of text, and counts.
class PairWriter {
 public:
  PairWriter(const ImportOptions& with_options, PairSink& to, ImportReport& with_report)
      : options(with_options), report(with_report), sink_(to) {}
  // A pair with an empty side is skipped as untranslated.
  void add(std::string_view source, std::string_view target, std::string place);

  const ImportOptions& options;
  ImportReport& report;

 private:
  PairSink& sink_;
};

// Whether a language code of a file is the language asked for: "en-US" and "EN_us" are "en", and "en" is not "en-US".
bool language_matches(std::string_view wanted, std::string_view code);

// The text on one line: white space, line breaks included, becomes single spaces; control characters are removed.
std::string one_line(std::string_view text);

}  // namespace fovea
