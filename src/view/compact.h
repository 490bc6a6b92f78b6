// Attention weights in one byte each, for files and answers that would be tens of megabytes as decimal numbers.
// A row is its largest weight s as a 16-bit fraction of 65535 (little-endian), then a byte q for each column:
//   w = s / 65535 * q / 254; q = 255 marks an absent cell.
// The error is at most s / 508 + 1 / 131070, which is below 0.002. docs/record.md describes the format for readers.
#pragma once

#include <cmath>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "attention/record.h"

namespace fovea {

// Log-probabilities of compact records have 4 decimals.
inline double rounded(double value) { return std::round(value * 1e4) / 1e4; }

// One row, not compressed.
std::string quantised_row(std::span<const float> weights);

// Rows `first_row` and after of every head, [layer, head, row], compressed with zlib, in base64.
std::string pack_weights(const RecordedAttention& attention, int64_t first_row = 0);
// Fills weights from a text that pack_weights wrote for this shape. Error for any other text; memory grows only as the
// text really unpacks, and never beyond what the shape needs.
void unpack_weights(std::string_view packed, RecordedAttention& attention);

}  // namespace fovea
