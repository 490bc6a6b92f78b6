// Packs attention weights into one byte each, for files and answers that would be tens of megabytes as decimal numbers.
// A row is its largest weight s as a 16-bit fraction of 65535 (little-endian), then a byte q for each column:
//   w = s / 65535 * q / 254; q = 255 marks an absent cell.
// The error is at most s / 508 + 1 / 131070, which is below 0.002. docs/record.md describes the format for readers;
// tests/view/cases/compact.json has cases that web/src/model/compact.ts shares.
#pragma once

#include <cmath>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "attention/record.h"

namespace fovea {

// Rounds a log-probability to the 4 decimals of compact records.
inline double rounded(double value) { return std::round(value * 1e4) / 1e4; }

// Packs one row, without zlib.
std::string quantised_row(std::span<const float> weights);

// Packs the rows from `first_row` on of every head, in the order [layer, head, row], with zlib and base64.
std::string pack_weights(const RecordedAttention& attention, int64_t first_row = 0);
// Fills attention.weights from a text that pack_weights wrote for this shape; throws an Error for any other text. It
// allocates only as the text unpacks, and never more than the shape needs.
void unpack_weights(std::string_view packed, RecordedAttention& attention);

}  // namespace fovea
