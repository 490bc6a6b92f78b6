// Attention records as files: JSON, one object a line. docs/record.md has the schema; record_arrays.h has the arrays.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attention/record.h"

namespace fovea {

std::string to_json(const AttentionRecord& record);  // without a line end; absent weights are null

// What a candidate has in common with an earlier candidate for the same source: hypotheses of a beam grow from common
// prefixes. The source and its self-attention, the first target tokens with their steps, and the first rows of cross
// and decoder self-attention are equal bit by bit.
struct Shared {
  int64_t rank = 0;  // of the earlier candidate; 0 for none
  int64_t tokens = 0, rows = 0;
};
// The candidates are in the order of their ranks; the result is for the last one.
Shared shared_with_earlier(std::span<const AttentionRecord> candidates);
// As to_json, with weights in a byte each (see compact.h), log-probabilities rounded to 4 decimals, and without what is
// shared with an earlier candidate.
std::string to_compact_json(const AttentionRecord& record, const Shared& shared = {});

// Error that begins with `place` ("records.jsonl:3") unless the text is a record of a version that is known.
AttentionRecord record_from_json(std::string_view text, const std::string& place);
// The objects of a file, one a line, plain or gzip; "-" is standard input.
std::vector<AttentionRecord> read_records(const std::string& path);

}  // namespace fovea
