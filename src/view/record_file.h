// Attention records as files: JSON, one object a line. docs/record.md has the schema; record_arrays.h has the arrays.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "attention/record.h"

namespace fovea {

std::string to_json(const AttentionRecord& record);  // without a line end; absent weights are null
// Error that begins with `place` ("records.jsonl:3") unless the text is a record of a version that is known.
AttentionRecord record_from_json(std::string_view text, const std::string& place);
// The objects of a file, one a line, plain or gzip; "-" is standard input.
std::vector<AttentionRecord> read_records(const std::string& path);

}  // namespace fovea
