// Reads and writes attention records as JSON, one object a line. docs/record.md has the schema; record_arrays.h writes
// arrays instead.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attention/record.h"

namespace fovea {

std::string to_json(const AttentionRecord& record);  // one line, without its end; absent weights are null

// The prefix that a candidate shares with an earlier candidate for the same source: hypotheses of a beam grow from
// common prefixes. The source and its self-attention, the first target tokens with their steps, and the first rows of
// cross and decoder self-attention are equal bit by bit.
struct Shared {
  int64_t rank = 0;  // of the earlier candidate; 0 for none
  int64_t tokens = 0, rows = 0;
};
// The candidates are in the order of their ranks; the result is for the last one.
Shared shared_with_earlier(std::span<const AttentionRecord> candidates);
// Like to_json, but with weights of one byte each (compact_weights.h), log-probabilities of 4 decimals, and without the
// prefix that is shared with an earlier candidate.
std::string to_compact_json(const AttentionRecord& record, const Shared& shared = {});

// Throws an Error that begins with `place` ("records.jsonl:3") unless the text is a record of a known version.
AttentionRecord record_from_json(std::string_view text, const std::string& place);
// Reads the records of a file, one a line, plain or gzipped; "-" is standard input.
std::vector<AttentionRecord> read_records(const std::string& path);

}  // namespace fovea
