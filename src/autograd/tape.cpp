#include "autograd/tape.h"

#include <cassert>
#include <optional>

#include "tensor/cuda.h"

namespace fovea {

namespace {

thread_local Tape* current_tape = nullptr;

constexpr int64_t kManyRows = 512;                      // a GEMM over more rows is not faster per row
constexpr size_t kMaxSideRetained = size_t{512} << 20;  // bytes retained for the side stream before it is joined

// Returns whether any of the addresses is inside the memory of x.
bool contains_any(const Tensor& x, const std::vector<const std::byte*>& addresses) {
  const std::byte *begin = x.raw(), *end = begin + x.bytes();
  return std::any_of(addresses.begin(), addresses.end(),
                     [&](const std::byte* address) { return begin <= address && address < end; });
}

}  // namespace

Tape* Tape::current() { return current_tape; }

Tape::Tape(Device device, uint64_t seed)
    : device_(device), seed_(seed), tensors_(device), nodes_(Device::cpu(), size_t{1} << 16) {
  const ArenaScope heap(nullptr);
  step_on_device_ = zeros({1}, DType::kI32, device);
}

Tape::~Tape() { clear(); }

void Tape::clear() {
  for (Gradient* gradient : deferred_) discard_deferred(*gradient);
  deferred_.clear();
  retained_.clear();
  reset_side_stream();
  for (Node* node = last_; node != nullptr;) {
    Node* previous = node->previous;
    node->destroy(node);
    node = previous;
  }
  last_ = nullptr;
}

void Tape::reset() {
  clear();
  tensors_.rewind();
  nodes_.rewind();
  next_random_op_ = 0;
  set_step(step_ + 1);
}

void Tape::set_step(int64_t step) {
  step_ = step;
  const auto narrow = static_cast<int32_t>(step);
  copy_memory(device_, step_on_device_.raw(), Device::cpu(), reinterpret_cast<const std::byte*>(&narrow),
              sizeof narrow);
}

RandomStream Tape::next_random_stream() {
  return {.seed = seed_, .op_index = next_random_op_++, .step = step_on_device_};
}

bool Tape::any_needs_grad(std::initializer_list<Var> inputs) {
  return std::any_of(inputs.begin(), inputs.end(), [](const Var& x) { return x.needs_grad(); });
}

Var Tape::part(Tensor value, Gradient* whole, int64_t offset) {
  auto* gradient = new (nodes_.allocate(sizeof(Gradient))) Gradient(value);
  // A part of a part refers to the whole itself, so that a chain of slices costs no more than one.
  gradient->whole = whole->whole != nullptr ? whole->whole : whole;
  gradient->offset = offset + whole->offset;
  gradient->leaf = whole->leaf;
  return Var(std::move(value), gradient);
}

void Tape::defer_product(const Var& weight, const DeferredProduct& use) {
  Gradient* gradient = weight.gradient();
  assert(gradient != nullptr);
  if (gradient->products == nullptr) deferred_.push_back(gradient);
  auto* product = new (nodes_.allocate(sizeof(DeferredProduct))) DeferredProduct(use);
  product->next = gradient->products;
  gradient->products = product;
  // No node flushes the gradient of a part of a computed value before the node of the whole runs.
  const bool part = gradient->whole != nullptr && !gradient->leaf;
  const bool enough = use.dy.rank() == 3 || use.x.dim(0) >= kManyRows;
  if (part || enough) {
    flush(*gradient);
  } else {
    retained_.push_back(use.dy.raw());
  }
}

// Concatenates the rows of all uses, first to last, into one matrix.
Tensor Tape::concat_rows(const DeferredProduct* uses, Tensor DeferredProduct::*factor) {
  const Tensor& first = uses->*factor;
  if (uses->next == nullptr) return first;
  int64_t rows = 0;
  pieces_.clear();
  for (const DeferredProduct* use = uses; use != nullptr; use = use->next) {
    rows += (use->*factor).dim(0);
    pieces_.push_back({use->*factor, (use->*factor).size()});
  }
  const Tensor joined = empty({rows, first.dim(1)}, first.dtype(), first.device());
  kernels(device_).concat(stream(device_), {.pieces = pieces_, .joined = joined});
  pieces_.clear();
  return joined;
}

void Tape::flush(Gradient& gradient) {
  if (DeferredGradient* deferred = std::exchange(gradient.deferred, nullptr)) {
    deferred->flush(*this);
    deferred->~DeferredGradient();
  }
  const DeferredProduct* uses = gradient.products;
  if (uses == nullptr) return;
  const bool on_side_stream = gradient.leaf && running_ != nullptr && !device_.on_host();
  const auto sum_of = [&](Gradient& of) { return on_side_stream ? accumulate_on_side_stream(of) : of.tensor(); };
  std::optional<cuda::SideStreamScope> side_stream;
  if (on_side_stream) side_stream.emplace(device_);
  const Tensor x = concat_rows(uses, &DeferredProduct::x), dy = concat_rows(uses, &DeferredProduct::dy);
  const int64_t count = dy.rank() == 3 ? dy.dim(0) : 1, rows = x.dim(0), in = x.dim(1), out = dy.dim(-1);
  kernels(device_).matmul(stream(device_),
                          {.a = {.tensor = dy, .row_stride = out, .batch_stride = rows * out, .transposed = true},
                           .b = {.tensor = x, .row_stride = in},
                           .c = {.tensor = sum_of(gradient), .row_stride = in, .batch_stride = out * in},
                           .m = out,
                           .n = in,
                           .k = rows,
                           .batch = count,
                           .accumulate = true,
                           .precision = uses->precision});
  const auto add_to_bias = [&](Gradient& bias, const Tensor& part, int64_t part_rows) {
    kernels(device_).reduce(stream(device_), {.op = ReduceOp::kSum,
                                              .x = part,
                                              .y = sum_of(bias),
                                              .outer = count,
                                              .count = part_rows,
                                              .inner = out,
                                              .accumulate = true});
  };
  // Consecutive uses with the same bias are summed together; in practice these are all uses.
  int64_t row = 0;
  for (const DeferredProduct* use = uses; use != nullptr;) {
    Gradient* bias = use->bias;
    const int64_t begin = row;
    for (; use != nullptr && use->bias == bias; use = use->next) row += use->x.dim(0);
    if (bias != nullptr) add_to_bias(*bias, count > 1 ? dy : dy.slice(begin, row), row - begin);
  }
  for (const DeferredProduct* use = uses; on_side_stream && use != nullptr; use = use->next) {
    side_reads_.push_back(use->dy.raw());
  }
  if (uses->next != nullptr) {
    for (const Tensor& copy : {x, dy}) on_side_stream ? retain_for_side_stream(copy) : release(copy);
  }
  discard_deferred(gradient);
}

// Returns the tensor to add to. The flag is cleared meanwhile, since Gradient::tensor would join the side stream.
Tensor Tape::accumulate_on_side_stream(Gradient& gradient) {
  Gradient* all = gradient.whole != nullptr ? gradient.whole : &gradient;
  if (!std::exchange(all->on_side_stream, false)) side_gradients_.push_back(all);
  Tensor sum = gradient.tensor();
  all->on_side_stream = true;
  return sum;
}

void Tape::retain_for_side_stream(const Tensor& x) {
  side_retained_.push_back(x);
  side_retained_bytes_ += x.bytes();
}

void Tape::join_side_stream() {
  if (side_gradients_.empty()) return;
  cuda::join_side_stream(device_);
  for (const Tensor& x : side_retained_) release(x);
  reset_side_stream();
}

void Tape::reset_side_stream() {
  for (Gradient* gradient : side_gradients_) gradient->on_side_stream = false;
  side_gradients_.clear();
  side_reads_.clear();
  side_retained_.clear();
  side_retained_bytes_ = 0;
}

void Tape::discard_deferred(Gradient& gradient) {
  if (DeferredGradient* deferred = std::exchange(gradient.deferred, nullptr)) deferred->~DeferredGradient();
  for (DeferredProduct* use = std::exchange(gradient.products, nullptr); use != nullptr;) {
    DeferredProduct* next = use->next;
    use->~DeferredProduct();
    use = next;
  }
}

void Tape::backward(const Var& loss) {
  check(loss.size() == 1, "backward: expected a scalar loss, got {}", loss.shape());
  check(loss.needs_grad(), "backward: expected a loss with a gradient, got a constant");
  const TapeScope tape_scope(*this);
  kernels(device_).affine(stream(device_), {.y = loss.grad(), .beta = 1.0f});
  run_backward();
}

void Tape::backward(std::span<const Seed> seeds) {
  const TapeScope tape_scope(*this);
  for (const auto& [y, dy] : seeds) {
    check(dy.shape() == y.shape(), "backward: expected a gradient of shape {}, got {}", y.shape(), dy.shape());
    check(y.needs_grad(), "backward: expected a value with a gradient, got a constant");
    kernels(device_).affine(stream(device_), {.x = dy, .y = y.grad(), .accumulate = true});
  }
  run_backward();
}

bool Tape::move_gradient_to(const Var& x, bool second) {
  Gradient *from = second ? &running_->second : &running_->first, *to = x.gradient();
  if (to->whole != nullptr || to->sum || to->products != nullptr || !from->sum ||
      from->shape.count() != to->shape.count() || contains_any(from->sum, retained_) ||
      contains_any(from->sum, side_reads_))
    return false;
  to->sum = std::exchange(from->sum, {}).reshape(to->shape);
  return true;
}

void Tape::recycle(Gradient& gradient) {
  if (!gradient.sum || gradient.sum.buffer() != nullptr) return;
  const Tensor sum = std::exchange(gradient.sum, {});
  if (contains_any(sum, retained_)) return;
  if (!contains_any(sum, side_reads_)) return release(sum);
  retain_for_side_stream(sum);
  if (side_retained_bytes_ > kMaxSideRetained) join_side_stream();
}

void Tape::run_backward() {
  try {
    for (Node* node = last_; node != nullptr; node = node->previous) {
      if (!node->first.present() && !node->second.present()) continue;
      flush(node->first);
      flush(node->second);
      running_ = node;
      // The tensors are copied because the closure may move the gradient to an input.
      const Tensor dy = node->first.whole != nullptr ? node->first.tensor() : node->first.sum, dz = node->second.sum;
      node->backward(node, dy, dz);
      recycle(node->first);
      recycle(node->second);
    }
    running_ = nullptr;
    join_side_stream();
    for (Gradient* gradient : deferred_) flush(*gradient);
  } catch (...) {
    running_ = nullptr;
    reset_side_stream();
    throw;
  }
  deferred_.clear();
  retained_.clear();
}

TapeScope::TapeScope(Tape& tape) : previous_(current_tape), arena_(&tape.tensors_) { current_tape = &tape; }
TapeScope::~TapeScope() { current_tape = previous_; }

}  // namespace fovea
