// Reduces a record to one matrix: selects an attention, combines its layers and heads, and merges subwords into words
// if asked. The title of the grid states the reduction. web/src/model/reduce.ts computes the same;
// tests/view/cases/reductions.json has the cases of both.
#pragma once

#include <string>
#include <vector>

#include "attention/record.h"
#include "base/fields.h"
#include "view/grid.h"

namespace fovea {

struct ReduceOptions {
  std::string attention = "auto";
  std::string heads = "mean";  // "auto": what was measured as best, or the mean where nothing was
  int64_t layer = 0;
  int64_t head = 0;
  bool words = false;
  int64_t member = 1;
  std::string step = "auto";  // of cross attention: "output", "input", or "auto", which is what was measured as best

  void describe(Fields& fields);
};

// The kind that "auto" stands for: cross, or the first of the record.
std::string default_attention(const AttentionRecord& record);
// Throws an Error that lists the attentions, layers or heads of the record if it does not have the one asked for.
Grid reduce(const AttentionRecord& record, const ReduceOptions& options);
// Whether the options select what was measured as best: they say so, or say "auto" and it was measured.
bool selects_best(const RecordedAttention& attention, const ReduceOptions& options);
// Whether a row of cross attention is that of the step that reads its token, after the one that predicted it.
bool shows_input_step(const RecordedAttention& attention, const ReduceOptions& options);
// Every row divided by its largest weight, so that rows with spread-out attention are as strong as others. The title
// says so. A row without attention stays as it is. web/src/model/grid.ts computes the same.
Grid normalise_rows(Grid grid);
// One grid for every head of every layer, layer by layer.
std::vector<Grid> every_head(const AttentionRecord& record, const ReduceOptions& options);
int64_t heads_of(const AttentionRecord& record, const ReduceOptions& options);

}  // namespace fovea
