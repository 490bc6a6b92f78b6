// What gettext's text files (PO) and binary files (MO) share.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "corpora/pairs.h"

namespace fovea {

// One message: its forms in the source language (one, or singular and plural) and in the target language.
struct GettextMessage {
  std::string source, source_plural;
  bool has_plural = false;
  std::vector<std::string> targets;
};

class GettextWriter {
 public:
  explicit GettextWriter(PairWriter& writer) : writer_(writer) {}
  // The translation of the empty message: `Language: zh_CN` and others. An Error if its charset is not UTF-8.
  void read_header(std::string_view header, const std::string& place);
  // The first form of several is that of one thing, and translates the singular; all others translate the plural. A
  // language with one form for all numbers (Chinese, Japanese) translates the plural with it.
  void add(const GettextMessage& message, const std::string& place);

 private:
  PairWriter& writer_;
  std::string language_;  // empty if the header does not say
};

}  // namespace fovea
