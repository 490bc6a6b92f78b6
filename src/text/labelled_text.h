// Texts with labels, for classification: TSV or CSV files, plain or gzip. Errors name the file and the line.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "text/lines.h"

namespace fovea {

class Fields;

struct LabelledTextOptions {
  std::string label_column = "label", text_column = "text";
  std::string label_separator;
  int64_t label_part = 1;

  void describe(Fields& fields);
};

struct LabelledText {
  std::vector<std::string> labels, texts;
  std::vector<int64_t> lines;  // the line, from 1, on which each row begins

  int64_t size() const { return std::ssize(texts); }
};

// Reads `label<TAB>text` without a header, or a file whose first line names the columns. A file named *.csv or
// *.csv.gz has commas between its columns, must have a header, and may have quoted fields with commas, doubled quotes
// and line breaks, which are read as spaces; fields of a TSV are not quoted.
LabelledText read_labelled(const std::string& path, const LabelledTextOptions& options,
                           size_t max_bytes = kMaxLineBytes);

}  // namespace fovea
