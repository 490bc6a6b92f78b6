// Weights of a trained model for another model that starts from it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "nn/parameters.h"

namespace fovea {

// A side of a model whose vocabulary was extended: the first axis of the parameters whose names start with `prefix` and
// whose first axis was `before` long. A new row starts as the mean of old ones, or of all old rows if none is named.
struct ExtendedRows {
  std::string prefix;
  int64_t before;
  std::vector<std::vector<int32_t>> parts;  // the old rows of each new one
};

// Is implemented by what declares parameters for extended vocabularies.
class HasExtendedRows {
 public:
  virtual ~HasExtendedRows() = default;
  virtual const std::vector<ExtendedRows>& extended_rows() const = 0;
};

struct MatchingWeights {
  int64_t elements = 0;                  // that were loaded
  std::vector<std::string> other_shape;  // parameters that have another shape in the folder, with both
  std::vector<std::string> missing;      // parameters that the folder does not have
};

// Loads the parameters that the folder has by name and shape, and leaves all others alone.
MatchingWeights load_matching_weights(const std::string& folder, const Parameters& parameters,
                                      const std::vector<ExtendedRows>& extended = {});

}  // namespace fovea
