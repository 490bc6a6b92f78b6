// Small files as tools write them, and a sink that collects the pairs.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "corpora/import.h"
#include "temporary_folder.h"

namespace fovea {

std::string omegat_tmx();  // with inline elements and a document type
std::string gettext_po();  // with plurals, fuzzy and obsolete entries, contexts, several lines
std::string gettext_mo();  // with a plural and a context
std::string xliff_12();    // with segments, proposals, states
std::string xliff_20();    // with codes, ignorable text, matches
std::string utf16(const std::string& ascii_or_bmp, bool big_endian);  // with a byte order mark
std::string zip_of(const TemporaryFolder& folder, const std::vector<std::pair<std::string, std::string>>& files,
                   const std::string& name = "archive.zip", bool stored = false);  // returns its path

struct Collected final : PairSink {
  std::vector<TextPair> pairs;
  void take(TextPair pair) override { pairs.push_back(std::move(pair)); }
  std::vector<std::string> texts() const;  // "source | target"
};

// The pairs of one file that has the name and these bytes.
std::vector<std::string> imported(const std::string& name, const std::string& bytes, const ImportOptions& options,
                                  ImportReport* report = nullptr);
inline ImportOptions between(const std::string& source, const std::string& target) {
  ImportOptions options;
  options.source_language = source;
  options.target_language = target;
  return options;
}

}  // namespace fovea
