#include "tensor/quantised.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/threads.h"

namespace fovea {

float QuantisedMatrix::scale(int64_t row) const {
  float scale = 0.0f;
  std::memcpy(&scale, scales + static_cast<size_t>(row) * sizeof scale, sizeof scale);
  return scale;
}

std::vector<QuantisedContents::Entry>::iterator QuantisedContents::first_after(const std::byte* at) {
  return std::partition_point(entries_.begin(), entries_.end(), [at](const Entry& entry) { return entry.end() <= at; });
}
std::vector<QuantisedContents::Entry>::const_iterator QuantisedContents::first_after(const std::byte* at) const {
  return std::partition_point(entries_.begin(), entries_.end(), [at](const Entry& entry) { return entry.end() <= at; });
}

void QuantisedContents::add(float* to, QuantisedMatrix matrix) {
  const auto* begin = reinterpret_cast<const std::byte*>(to);
  drop(begin, begin + static_cast<size_t>(matrix.rows * matrix.columns) * sizeof(float));
  const std::lock_guard lock(mutex_);
  entries_.insert(first_after(begin), {to, std::move(matrix)});
  pending_.fetch_add(1, std::memory_order_release);
}

void QuantisedContents::widen(Entry& entry) {
  if (entry.widened) return;
  const QuantisedMatrix& m = entry.matrix;
  constexpr int64_t kGrain = 1 << 16;
  parallel_for(m.rows, kGrain / std::clamp<int64_t>(m.columns, 1, kGrain), [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      const float scale = m.scale(row);
      const int8_t* from = m.values + row * m.columns;
      float* to = entry.to + row * m.columns;
      for (int64_t i = 0; i < m.columns; ++i) to[i] = scale * static_cast<float>(from[i]);
    }
  });
  entry.widened = true;
  pending_.fetch_sub(1, std::memory_order_release);
}

void QuantisedContents::widen(const std::byte* begin, const std::byte* end) {
  const std::lock_guard lock(mutex_);
  for (auto entry = first_after(begin); entry != entries_.end() && entry->begin() < end; ++entry) widen(*entry);
}

void QuantisedContents::drop(const std::byte* begin, const std::byte* end) {
  const std::lock_guard lock(mutex_);
  const auto first = first_after(begin);
  auto last = first;
  for (; last != entries_.end() && last->begin() < end; ++last) widen(*last);
  entries_.erase(first, last);
}

QuantisedRow QuantisedContents::row(const std::byte* at, int64_t columns) const {
  const std::lock_guard lock(mutex_);
  const auto entry = first_after(at);
  if (entry == entries_.end() || entry->begin() > at || entry->matrix.columns != columns) return {};
  const auto elements = static_cast<int64_t>((at - entry->begin()) / static_cast<int64_t>(sizeof(float)));
  if (elements % columns != 0) return {};
  return {entry->matrix.values + elements, entry->matrix.scale(elements / columns)};
}

}  // namespace fovea
