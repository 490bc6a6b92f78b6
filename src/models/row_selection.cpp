#include "models/row_selection.h"

#include <memory>

#include "tensor/arena.h"

namespace fovea {

Var select_rows(const Var& x, const Tensor& rows) {
  const int64_t width = x.size() / std::max<int64_t>(1, x.dim(0));
  const Var selected = embedding(x.reshape({x.dim(0), width}), rows.reshape({rows.size()}));
  return selected.reshape(x.shape().with(0, rows.size()));
}

void select_rows(std::vector<State>& states, const Tensor& rows) {
  for (State& state : states) {
    state.state = select_rows(state.state, rows);
    if (state.cell_state) state.cell_state = select_rows(state.cell_state, rows);
  }
}

Tensor rows_of_sentences(const Tensor& sentences, int64_t beams, int64_t batch) {
  const std::vector<int32_t> selected = to_host<int32_t>(sentences);
  std::vector<int32_t> rows;
  rows.reserve(static_cast<size_t>(beams) * selected.size());
  for (int64_t k = 0; k < beams; ++k) {
    for (const int32_t b : selected) rows.push_back(static_cast<int32_t>(k * batch) + b);
  }
  return from_host(rows, {beams, sentences.size()}, sentences.device());
}

Memory select_sentences(const Memory& memory, const Tensor& sentences) {
  const int64_t size = memory.size(), batch = memory.batch();
  const Tensor rows = rows_of_sentences(sentences, size, batch);
  const auto select = [&](const Var& x) {
    const int64_t depth = x.size() / (size * batch);
    return select_rows(x.reshape({size * batch, depth}), rows).reshape(x.shape().with(1, sentences.size()));
  };
  Memory selected{select(memory.keys), select(memory.values), {}};
  if (memory.lengths) {
    const std::vector<int32_t> all = to_host<int32_t>(memory.lengths);
    std::vector<int32_t> lengths;
    for (const int32_t b : to_host<int32_t>(sentences)) lengths.push_back(all[static_cast<size_t>(b)]);
    selected.lengths = from_host(lengths, sentences.shape(), sentences.device());
  }
  return selected;
}

Tensor select_ids(const Tensor& ids, const Tensor& sentences) {
  const Var rows = cast(Var(ids), DType::kF32);  // exact for fewer than 2^24 tokens
  return cast(select_rows(rows, sentences), DType::kI32).value();
}

namespace {

// Rows in 8 bits with their scales, in memory of their own.
struct OwnedRows {
  std::vector<int8_t> values;
  std::vector<float> scales;
};

// The rows of a matrix that is stored in 8 bits; null for any other.
std::shared_ptr<OwnedRows> quantised_rows(const Tensor& weight, std::span<const int32_t> rows, int64_t columns) {
  auto copied = std::make_shared<OwnedRows>();
  copied->values.reserve(rows.size() * static_cast<size_t>(columns));
  for (const int32_t row : rows) {
    const QuantisedRow stored = weight.quantised_row(row * columns, columns);
    if (!stored) return nullptr;
    copied->values.insert(copied->values.end(), stored.values, stored.values + columns);
    copied->scales.push_back(stored.scale);
  }
  return copied;
}

}  // namespace

Tensor copy_rows(const Tensor& weight, std::span<const int32_t> rows) {
  const ArenaScope heap(nullptr);
  const int64_t count = std::ssize(rows), columns = weight.size() / std::max<int64_t>(1, weight.dim(0));
  const Tensor copied = empty(weight.shape().with(0, count), weight.dtype(), weight.device());
  if (const auto owned = columns > 1 ? quantised_rows(weight, rows, columns) : nullptr) {
    copied.buffer()->set_quantised(copied.address(),
                                   {.rows = count,
                                    .columns = columns,
                                    .values = owned->values.data(),
                                    .scales = reinterpret_cast<const std::byte*>(owned->scales.data()),
                                    .owner = owned});
    return copied;
  }
  const auto bytes = static_cast<size_t>(columns) * size_of(weight.dtype());
  for (int64_t i = 0; i < count; ++i) {
    copy_memory(weight.device(), copied.raw() + static_cast<size_t>(i) * bytes, weight.device(),
                weight.raw() + static_cast<size_t>(rows[static_cast<size_t>(i)]) * bytes, bytes);
  }
  return copied;
}

Var repeat_rows(const Var& x, int64_t times) {
  if (times == 1 || !x) return x;
  const std::vector<Var> copies(static_cast<size_t>(times), x);
  return concat(copies, 0);
}

}  // namespace fovea
