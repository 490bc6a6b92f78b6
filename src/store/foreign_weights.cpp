#include "store/foreign_weights.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/error.h"
#include "base/json.h"
#include "store/safetensors.h"
#include "text/vocabulary.h"

namespace fovea {

namespace {

std::string numbered(std::string prefix, int64_t layer) {
  const size_t at = prefix.find("{}");
  return prefix.replace(at, 2, std::to_string(layer));
}

// A linear layer of ours; `in` and `out` say what its columns and rows count.
void add_linear(std::vector<WeightPlace>& places, const std::string& ours, const std::string& theirs,
                const LayerNames& names, const LayerNames::Part& part, Axis in, Axis out) {
  for (const bool weight : {true, false}) {
    WeightPlace& place = places.emplace_back();
    place.ours = ours + (weight ? ".weight" : ".bias");
    place.theirs = theirs + part.name + (weight ? names.weight : names.bias);
    place.rows = out;
    if (weight) place.columns = in;
    place.block = part.block;
    place.blocks = part.blocks;
    place.optional = !weight;  // CTranslate2 leaves out the biases of models without
  }
}

void add_norm(std::vector<WeightPlace>& places, const std::string& ours, const std::string& theirs,
              const LayerNames& names, bool optional = false) {
  places.push_back({.ours = ours + ".gamma",
                    .theirs = theirs + names.gamma,
                    .rows = Axis::kFeatures,
                    .optional = optional,
                    .otherwise = 1});
  places.push_back(
      {.ours = ours + ".beta", .theirs = theirs + names.beta, .rows = Axis::kFeatures, .optional = optional});
}

void add_attention(std::vector<WeightPlace>& places, const std::string& ours, const std::string& theirs,
                   const LayerNames& names, const LayerNames::Part (&parts)[4]) {
  const char* inner[] = {".query", ".keys", ".values"};
  for (int i = 0; i < 3; ++i) {
    add_linear(places, ours + inner[i], theirs, names, parts[i], Axis::kFeatures, Axis::kPlain);
  }
  add_linear(places, ours + ".out", theirs, names, parts[3], Axis::kPlain, Axis::kFeatures);
}

// The elements of their tensor that are rows and columns of ours.
class Rearrangement {
 public:
  Rearrangement(const WeightPlace& place, const Shape& shape, const TokenOrder& source, const TokenOrder& target)
      : rows_(shape[0]), columns_(shape.rank() > 1 ? shape[1] : 1) {
    const TokenOrder* tokens = place.rows == Axis::kSource ? &source : place.rows == Axis::kTarget ? &target : nullptr;
    for (int64_t r = 0; r < rows_; ++r) {
      const int64_t row = place.rows == Axis::kFeatures ? their_feature(r, rows_) : r;
      row_.push_back(tokens != nullptr ? tokens->row[static_cast<size_t>(r)] : row + place.block * rows_);
    }
    for (int64_t c = 0; c < columns_; ++c) {
      column_.push_back(place.columns == Axis::kFeatures ? their_feature(c, columns_) : c);
    }
  }

  // Calls move(ours, theirs) for each element of ours; theirs is -1 where they have none.
  template <class Move> void for_each(Move&& move) const {
    for (int64_t r = 0; r < rows_; ++r) {
      const int64_t row = row_[static_cast<size_t>(r)];
      for (int64_t c = 0; c < columns_; ++c) {
        move(static_cast<size_t>(r * columns_ + c), row < 0 ? -1 : row * columns_ + column_[static_cast<size_t>(c)]);
      }
    }
  }

 private:
  int64_t rows_, columns_;
  std::vector<int64_t> row_, column_;
};

// The name by which the file has the tensor of a place; empty if it lacks it.
std::string found_name(const ForeignTensors& file, const WeightPlace& place) {
  if (file.shape(place.theirs) != nullptr) return place.theirs;
  for (const std::string& name : place.also) {
    if (file.shape(name) != nullptr) return name;
  }
  return {};
}

void check_place(const ForeignTensors& file, const WeightPlace& place, const Shape& shape, const TokenOrder& source,
                 const TokenOrder& target) {
  const std::string name = found_name(file, place);
  check(!name.empty() || place.optional, "{}: expected a tensor {}", file.path(), place.theirs);
  if (name.empty()) return;
  std::vector<int64_t> got = *file.shape(name);
  if (std::ssize(got) == shape.rank() + 1 && got.front() == 1) got.erase(got.begin());  // a bias [1,V]
  std::vector<int64_t> expected(shape.begin(), shape.end());
  expected[0] = place.rows == Axis::kSource   ? source.theirs
                : place.rows == Axis::kTarget ? target.theirs
                                              : shape[0] * place.blocks;
  check(got == expected, "{}: {}: expected the shape [{}], as the model's settings say, got [{}]", file.path(), name,
        fmt::join(expected, ","), fmt::join(got, ","));
}

std::vector<float> read_place(const ForeignTensors& file, const WeightPlace& place, const Shape& shape,
                              const TokenOrder& source, const TokenOrder& target) {
  std::vector<float> ours(static_cast<size_t>(shape.count()), place.otherwise);
  if (const std::string name = found_name(file, place); !name.empty()) {
    const std::vector<float> theirs = file.read(name);
    Rearrangement(place, shape, source, target).for_each([&](size_t to, int64_t from) {
      ours[to] = from < 0 ? 0.0f : theirs[static_cast<size_t>(from)] * place.factor;
    });
  }
  if (target.zero_begin && place.ours == "decoder.words.table") {
    std::fill_n(ours.begin() + kBegin * shape[1], shape[1], 0.0f);
  }
  if (place.rows == Axis::kTarget && shape.rank() == 1) {
    for (size_t i = 0; i < ours.size(); ++i) ours[i] += target.never[i] ? kNeverGenerated : 0.0f;
  }
  return ours;
}

}  // namespace

int64_t their_feature(int64_t column, int64_t features) {
  return column % 2 == 0 ? column / 2 : (features + 1) / 2 + column / 2;
}

std::vector<float> their_sinusoids(int64_t count, int64_t features) {
  std::vector<float> table(static_cast<size_t>(count * features));
  for (int64_t column = 0; column < features; ++column) {
    const double power = static_cast<double>(column / 2 * 2) / static_cast<double>(features);
    const double wavelength = std::pow(10000.0, power);
    for (int64_t t = 0; t < count; ++t) {
      const double angle = static_cast<double>(t) / wavelength;
      table[static_cast<size_t>(t * features + their_feature(column, features))] =
          static_cast<float>(column % 2 == 0 ? std::sin(angle) : std::cos(angle));
    }
  }
  return table;
}

TokenOrder order_tokens(std::vector<std::string> pieces, const SpecialTokens& special) {
  TokenOrder order;
  order.theirs = std::ssize(pieces);
  std::set<std::string, std::less<>> taken;
  const auto add = [&](std::string piece, int64_t row, bool never) {
    if (piece.empty()) piece = "<empty>";
    while (!taken.insert(piece).second) piece += '_';
    order.pieces.push_back(std::move(piece));
    order.row.push_back(row);
    order.never.push_back(never);
  };
  const std::set<int64_t> others = {special.pad, special.unknown, special.end};
  add("<pad>", special.pad, special.pad < 0);
  add("<unk>", special.unknown, special.unknown < 0);
  add("<s>", special.begin, special.begin < 0 || others.count(special.begin) > 0);
  add("</s>", special.end, false);
  for (int64_t id = 0; id < order.theirs; ++id) {
    if (others.count(id) == 0 && id != special.begin) add(std::move(pieces[static_cast<size_t>(id)]), id, false);
  }
  return order;
}

TokenOrder same_order(int64_t tokens) {
  TokenOrder order;
  order.theirs = tokens;
  for (int64_t id = 0; id < tokens; ++id) order.row.push_back(id);
  order.never.assign(static_cast<size_t>(tokens), false);
  return order;
}

std::vector<WeightPlace> layer_places(const ModelConfig& config, const LayerNames& names) {
  std::vector<WeightPlace> places;
  const auto add_forward = [&](const std::string& ours, const std::string& theirs) {
    add_norm(places, ours + ".forward.norm", theirs + names.forward_norm, names);
    add_linear(places, ours + ".forward.in", theirs, names, {names.in}, Axis::kFeatures, Axis::kPlain);
    add_linear(places, ours + ".forward.out", theirs, names, {names.out}, Axis::kPlain, Axis::kFeatures);
  };
  for (int64_t i = 0; i < config.encoder_layers; ++i) {
    const std::string ours = fmt::format("encoder.{}", i), theirs = numbered(names.encoder, i);
    add_norm(places, ours + ".self.norm", theirs + names.self_norm, names);
    add_attention(places, ours + ".self", theirs, names, names.self);
    add_forward(ours, theirs);
  }
  for (int64_t i = 0; i < config.decoder_layers; ++i) {
    const std::string ours = fmt::format("decoder.{}", i), theirs = numbered(names.decoder, i);
    add_norm(places, ours + ".self.norm", theirs + names.self_norm, names);
    add_attention(places, ours + ".self", theirs, names, names.self);
    add_norm(places, ours + ".cross.norm", theirs + names.cross_norm, names);
    add_attention(places, ours + ".cross", theirs, names, names.cross);
    add_forward(ours, theirs);
  }
  // Ours has the final norms with norm = post, too, and does not use them.
  add_norm(places, "encoder.norm", names.encoder_norm, names, config.norm == "post");
  add_norm(places, "decoder.norm", names.decoder_norm, names, config.norm == "post");
  return places;
}

void check_rows(const ForeignTensors& file, const WeightPlace& place, int64_t rows) {
  const std::string name = found_name(file, place);
  check(!name.empty(), "{}: expected a tensor {}", file.path(), place.theirs);
  const std::vector<int64_t>& shape = *file.shape(name);
  check(!shape.empty() && shape[0] == rows,
        "{}: {}: expected the shape [{},...], as the model's settings say, got [{}]", file.path(), name, rows,
        fmt::join(shape, ","));
}

void check_weights(const ForeignTensors& file, const std::vector<WeightPlace>& places, const TokenOrder& source,
                   const TokenOrder& target, const std::vector<std::string>& ignored, const Parameters& parameters) {
  std::set<std::string, std::less<>> known(ignored.begin(), ignored.end());
  for (const WeightPlace& place : places) {
    known.insert(place.theirs);
    known.insert(place.also.begin(), place.also.end());
    check_place(file, place, parameters.find(place.ours).shape(), source, target);
  }
  for (const std::string& name : file.names()) {
    check(known.count(name) > 0, "{}: the tensor {} has no place in Fovea's Transformer", file.path(), brief(name));
  }
}

void read_weights(const ForeignTensors& file, const std::vector<WeightPlace>& places, const TokenOrder& source,
                  const TokenOrder& target, const Parameters& parameters) {
  for (const WeightPlace& place : places) {
    const Parameter& parameter = parameters.find(place.ours);
    const std::vector<float> values = read_place(file, place, parameter.shape(), source, target);
    copy(from_host(values, parameter.shape(), Device::cpu()), parameter.value());
    parameter.value().contents_changed();
  }
}

std::vector<NamedTensor> written_weights(const Parameters& parameters, const std::vector<WeightPlace>& places) {
  std::vector<NamedTensor> written;
  for (const WeightPlace& place : places) {
    const Parameter& parameter = parameters.find(place.ours);
    const TokenOrder tokens = same_order(parameter.shape()[0]);
    const std::vector<float> ours = to_host<float>(to_device(parameter.value(), Device::cpu()));
    std::vector<float> theirs(ours.size());
    Rearrangement(place, parameter.shape(), tokens, tokens).for_each([&](size_t from, int64_t to) {
      theirs[static_cast<size_t>(to)] = ours[from] / place.factor;
    });
    written.push_back({place.theirs, from_host(theirs, parameter.shape(), Device::cpu())});
  }
  return written;
}

}  // namespace fovea
