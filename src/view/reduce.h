// From a record to a matrix to look at: which attention, how its layers and heads become one, tokens or words. No
// head is chosen silently: the title says what was done.
#pragma once

#include <string>
#include <vector>

#include "attention/record.h"
#include "base/fields.h"
#include "view/grid.h"

namespace fovea {

struct ReduceOptions {
  std::string attention = "cross";
  std::string heads = "mean";
  int64_t layer = 0;
  int64_t head = 0;
  bool words = false;
  int64_t member = 1;

  void describe(Fields& fields);
};

// Error, with what there is, when the record has no such attention, layer or head.
Grid reduce(const AttentionRecord& record, const ReduceOptions& options);
// Every head of every layer by itself, layer by layer.
std::vector<Grid> every_head(const AttentionRecord& record, const ReduceOptions& options);
int64_t heads_of(const AttentionRecord& record, const ReduceOptions& options);

// Pieces into words, by where they stand in the text: columns are summed and rows averaged, so that a row still sums
// to 1. In scripts without spaces every token is a word.
Grid merge_words(const Grid& grid, const std::vector<int64_t>& row_words, const std::vector<int64_t>& column_words);

}  // namespace fovea
