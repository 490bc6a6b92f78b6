// y[i] = scale table[ids[i]]. The gradient is added to the rows that were read.
#include "ops/check.h"
#include "ops/ops.h"

namespace fovea {

Var embedding(const Var& table, const Tensor& ids, float scale) { return embedding(table, ids, scale, table.dtype()); }

Var embedding(const Var& table, const Tensor& ids, float scale, DType elements) {
  Expect("embedding", "the table", table.value()).elements().rank(2);
  Expect("embedding", "ids", ids).dtype(DType::kI32).on(table.device()).rank(0, Shape::kMaxRank - 1);
  check(elements == table.dtype() || table.dtype() == accumulator_of(elements),
        "embedding: expected {} elements from a table of {}, got {} requested", table.dtype(), table.dtype(), elements);
  const Device d = table.device();
  if (d.on_host()) {
    const int32_t* id = ids.data<int32_t>();
    for (int64_t i = 0; i < ids.size(); ++i) {
      check(id[i] >= 0 && id[i] < table.dim(0), "embedding: expected ids below {}, got {} at {}", table.dim(0), id[i],
            i);
    }
  }
  int64_t sizes[Shape::kMaxRank];
  std::copy(ids.shape().begin(), ids.shape().end(), sizes);
  sizes[ids.rank()] = table.dim(1);
  const Tensor y = empty(Shape(std::span<const int64_t>(sizes, static_cast<size_t>(ids.rank()) + 1)), elements, d);
  kernels(d).embedding(stream(d), {.table = table.value(), .ids = ids, .y = y, .scale = scale});
  return Tape::add_node(y, {table}, [=](const Tensor& dy) {
    kernels(d).embedding_grad(stream(d), {.ids = ids, .dy = dy, .dtable = table.grad(), .scale = scale});
  });
}

}  // namespace fovea
