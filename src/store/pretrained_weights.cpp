#include "store/pretrained_weights.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

#include "store/foreign_folder.h"
#include "store/model_folder.h"
#include "store/safetensors.h"

namespace fovea {

namespace {

// The entry for a parameter that the file has with the rows of the vocabulary before it was extended.
const ExtendedRows* extension_of(const Parameter& p, const SafetensorsFile& file,
                                 const std::vector<ExtendedRows>& extended) {
  for (const ExtendedRows& rows : extended) {
    if (p.name().starts_with(rows.prefix) && p.shape().rank() > 0 &&
        p.shape()[0] == rows.before + std::ssize(rows.parts) && file.has(p.name(), p.shape().with(0, rows.before))) {
      return &rows;
    }
  }
  return nullptr;
}

void read_extended(const SafetensorsFile& file, const Parameter& p, const ExtendedRows& rows) {
  const Tensor old = empty(p.shape().with(0, rows.before), DType::kF32, Device::cpu());
  file.read(p.name(), old);
  std::vector<float> values = to_host<float>(old);
  const auto columns = static_cast<size_t>(p.shape().count() / p.shape()[0]);
  std::vector<int32_t> all(static_cast<size_t>(rows.before));
  std::iota(all.begin(), all.end(), 0);
  for (const std::vector<int32_t>& parts : rows.parts) {
    const std::vector<int32_t>& from = parts.empty() ? all : parts;
    std::vector<double> mean(columns);
    for (const int32_t row : from) {
      for (size_t i = 0; i < columns; ++i) mean[i] += values[static_cast<size_t>(row) * columns + i];
    }
    for (const double sum : mean) values.push_back(static_cast<float>(sum / static_cast<double>(from.size())));
  }
  copy(from_host(values, p.shape(), Device::cpu()), p.value());
  p.value().contents_changed();
}

// Those of a folder of another program, whose weights are rearranged when they are read.
MatchingWeights copy_matching(const Parameters& from, const Parameters& parameters) {
  MatchingWeights matching;
  for (const Parameter& p : parameters.list()) {
    const auto same_name = [&](const Parameter& q) { return q.name() == p.name(); };
    const auto found = std::find_if(from.list().begin(), from.list().end(), same_name);
    if (found == from.list().end()) {
      matching.missing.push_back(p.name());
    } else if (!(found->get().shape() == p.shape())) {
      matching.other_shape.push_back(fmt::format("{} {}, there {}", p.name(), p.shape(), found->get().shape()));
    } else {
      copy(found->get().value(), p.value());
      p.value().contents_changed();
      matching.elements += p.shape().count();
    }
  }
  return matching;
}

}  // namespace

MatchingWeights load_matching_weights(const std::string& folder, const Parameters& parameters,
                                      const std::vector<ExtendedRows>& extended) {
  if (const ForeignFormat* format = foreign_format(folder)) {
    check(extended.empty(), "{}: expected a folder of Fovea to extend the vocabulary of, not one of {}", folder,
          format->name);
    return copy_matching(*load_foreign(*format, folder, Device::cpu()).parameters, parameters);
  }
  const SafetensorsFile file(weights_path(folder));
  MatchingWeights matching;
  for (const Parameter& p : parameters.list()) {
    if (file.has(p.name(), p.shape())) {
      file.read(p.name(), p.value());
    } else if (const ExtendedRows* rows = extension_of(p, file, extended)) {
      read_extended(file, p, *rows);
    } else if (const std::vector<int64_t>* sizes = file.shape(p.name())) {
      matching.other_shape.push_back(fmt::format("{} {}, there [{}]", p.name(), p.shape(), fmt::join(*sizes, ",")));
      continue;
    } else {
      matching.missing.push_back(p.name());
      continue;
    }
    matching.elements += p.shape().count();
  }
  return matching;
}

}  // namespace fovea
