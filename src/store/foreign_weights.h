// How the weights of another program's Transformer become ours and ours become theirs: names, fused matrices, the order
// of tokens and the order of the features.
//
// MarianMT and CTranslate2 compute sinusoidal positions with all sines before all cosines, where ours alternate as in
// the paper. The features of the residual stream have no order of their own, so they are permuted in every weight that
// reads or writes them, and the models compute the same.
#pragma once

#include <string>
#include <vector>

#include "models/config.h"
#include "nn/parameters.h"
#include "store/foreign_tensors.h"
#include "store/safetensors.h"

namespace fovea {

// What is added to the logit of a token that is never generated.
constexpr float kNeverGenerated = -1e9f;

// A vocabulary of theirs in the order of our ids, which begin with pad, unknown, begin and end.
struct TokenOrder {
  std::vector<std::string> pieces;  // by our ids
  std::vector<int64_t> row;         // for each of our ids theirs; -1 if they have no such token
  std::vector<bool> never;          // whether the token must not be generated: it is there for our ids only
  int64_t theirs = 0;               // the size of their vocabulary
  bool zero_begin = false;          // whether decoding starts from an embedding of zeros
};

// Their ids of our special tokens; -1 for none. Several may be the same token.
struct SpecialTokens {
  int64_t pad = -1, unknown = -1, begin = -1, end = -1;
};
// `pieces` by their ids.
TokenOrder order_tokens(std::vector<std::string> pieces, const SpecialTokens& special);
// Our vocabulary as it is.
TokenOrder same_order(int64_t tokens);

enum class Axis : uint8_t { kPlain, kFeatures, kSource, kTarget };  // what an axis of a tensor counts

// Where a parameter of ours is in their file.
struct WeightPlace {
  std::string ours, theirs;
  Axis rows = Axis::kPlain, columns = Axis::kPlain;
  int64_t block = 0, blocks = 1;  // of several parameters that they store as one, along the rows
  float factor = 1;               // ours is theirs times this
  bool optional = false;          // if they lack it, ours is filled with `otherwise`
  float otherwise = 0;
  std::vector<std::string> also = {};  // other names that it is stored by
};

// The places of a Transformer with these names: prefixes of the layers ("model.encoder.layers.{}." with the layer's
// number) and of what is inside of them.
struct LayerNames {
  struct Part {
    std::string name;
    int64_t block = 0, blocks = 1;
  };
  std::string encoder, decoder;            // the layers
  Part self[4], cross[4];                  // query, keys, values, out
  std::string self_norm, cross_norm;       // of the sublayers
  std::string in, out, forward_norm;       // the feed-forward network
  std::string encoder_norm, decoder_norm;  // after the last layer
  std::string weight, bias, gamma, beta;   // suffixes
};
std::vector<WeightPlace> layer_places(const ModelConfig& config, const LayerNames& names);

// Error unless the table of a place has so many rows: before a vocabulary of that size is made.
void check_rows(const ForeignTensors& file, const WeightPlace& place, int64_t rows);
// Checks the file before anything is allocated: Error if a place is not in it, if its shape is not that of the declared
// parameter, or if the file has a tensor that is neither in a place nor among `ignored`.
void check_weights(const ForeignTensors& file, const std::vector<WeightPlace>& places, const TokenOrder& source,
                   const TokenOrder& target, const std::vector<std::string>& ignored, const Parameters& parameters);
// Reads all parameters.
void read_weights(const ForeignTensors& file, const std::vector<WeightPlace>& places, const TokenOrder& source,
                  const TokenOrder& target, const Parameters& parameters);

// Our parameters as they store them, with our tokens in our order.
std::vector<NamedTensor> written_weights(const Parameters& parameters, const std::vector<WeightPlace>& places);

// The column of their tensors with d features that is our column.
int64_t their_feature(int64_t column, int64_t features);
// Their table of sinusoidal positions, [count,d].
std::vector<float> their_sinusoids(int64_t count, int64_t features);

}  // namespace fovea
