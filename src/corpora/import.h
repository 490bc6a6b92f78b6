// Reads corpora in the formats that translators' tools, localisation and corpus collections write.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "corpora/byte_source.h"
#include "corpora/pairs.h"

namespace fovea {

struct CorpusFormat {
  std::string_view name, extensions, help;              // extensions: between blanks, in lower case
  void (*read)(ByteSource source, PairWriter& writer);  // null for pairs of files
};
// A plain array: to add a format is to add an entry.
std::span<const CorpusFormat> corpus_formats();

// Reads the files, and those in zip archives, one after the other. The format of a file is chosen by the end of its
// name, or is the one given. Files that end with the codes of the two languages, such as news.en and news.zh, are
// pairs.
//
// Throws an Error where a file is not what its format says, where it has no pair, and where a pair has one file only.
// What was read before it has been passed on.
ImportReport import_corpora(std::span<const std::string> paths, const std::string& format, const ImportOptions& options,
                            PairSink& sink, const UnpackLimits& limits = {});

}  // namespace fovea
