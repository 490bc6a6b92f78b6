#include "autograd/tape.h"

#include <cassert>
#include <optional>

#include "tensor/cuda.h"

namespace fovea {

namespace {

thread_local Tape* current_tape = nullptr;

constexpr int64_t kManyRows = 512;                 // a product over so many is as fast as over more
constexpr size_t kMostBeside = size_t{512} << 20;  // bytes that are kept for what is beside the rest

bool lies_in(const Tensor& x, const std::vector<const std::byte*>& places) {
  const std::byte *begin = x.raw(), *end = begin + x.bytes();
  return std::any_of(places.begin(), places.end(),
                     [&](const std::byte* place) { return begin <= place && place < end; });
}

}  // namespace

Tape* Tape::current() { return current_tape; }

Tape::Tape(Device device, uint64_t seed)
    : device_(device), seed_(seed), tensors_(device), records_(Device::cpu(), size_t{1} << 16) {
  const ArenaScope heap(nullptr);
  step_on_device_ = zeros({1}, DType::kI32, device);
}

Tape::~Tape() { clear(); }

void Tape::clear() {
  for (Gradient* gradient : waiting_) drop(*gradient);
  waiting_.clear();
  held_.clear();
  forget_beside();
  for (Node* node = last_; node != nullptr;) {
    Node* before = node->before;
    node->destroy(node);
    node = before;
  }
  last_ = nullptr;
}

void Tape::reset() {
  clear();
  tensors_.rewind();
  records_.rewind();
  next_site_ = 0;
  set_step(step_ + 1);
}

void Tape::set_step(int64_t step) {
  step_ = step;
  const auto narrow = static_cast<int32_t>(step);
  copy_memory(device_, step_on_device_.raw(), Device::cpu(), reinterpret_cast<const std::byte*>(&narrow),
              sizeof narrow);
}

RandomSite Tape::next_random() { return {.seed = seed_, .site = next_site_++, .step = step_on_device_}; }

bool Tape::any_needs_grad(std::initializer_list<Var> inputs) {
  return std::any_of(inputs.begin(), inputs.end(), [](const Var& x) { return x.needs_grad(); });
}

Var Tape::part(Tensor value, Gradient* whole, int64_t offset) {
  auto* gradient = new (records_.allocate(sizeof(Gradient))) Gradient(value);
  // A part of a part lies directly in the whole, so that chains of slices cost nothing.
  gradient->whole = whole->whole != nullptr ? whole->whole : whole;
  gradient->offset = offset + whole->offset;
  gradient->leaf = whole->leaf;
  return Var(std::move(value), gradient);
}

void Tape::defer(const Var& weight, const Product& use) {
  Gradient* gradient = weight.gradient();
  assert(gradient != nullptr);
  if (gradient->products == nullptr) waiting_.push_back(gradient);
  auto* product = new (records_.allocate(sizeof(Product))) Product(use);
  product->next = gradient->products;
  gradient->products = product;
  // A part of something computed: nobody else would settle it before the whole's turn comes.
  const bool part = gradient->whole != nullptr && !gradient->leaf;
  const bool enough = use.dy.rank() == 3 || use.x.dim(0) >= kManyRows;
  if (part || enough) {
    settle(*gradient);
  } else {
    held_.push_back(use.dy.raw());
  }
}

// The rows of all uses, first to last, as one matrix.
Tensor Tape::join(const Product* uses, Tensor Product::*factor) {
  const Tensor& first = uses->*factor;
  if (uses->next == nullptr) return first;
  int64_t rows = 0;
  pieces_.clear();
  for (const Product* use = uses; use != nullptr; use = use->next) {
    rows += (use->*factor).dim(0);
    pieces_.push_back({use->*factor, (use->*factor).size()});
  }
  const Tensor joined = empty({rows, first.dim(1)}, first.dtype(), first.device());
  kernels(device_).concat(stream(device_), {.pieces = pieces_, .joined = joined});
  pieces_.clear();
  return joined;
}

void Tape::settle(Gradient& gradient) {
  if (PutOff* put_off = std::exchange(gradient.put_off, nullptr)) {
    put_off->settle(*this);
    put_off->~PutOff();
  }
  const Product* uses = gradient.products;
  if (uses == nullptr) return;
  const bool late = gradient.leaf && running_ != nullptr && !device_.on_host();
  const auto sum_of = [&](Gradient& of) { return late ? beside(of) : of.tensor(); };
  std::optional<cuda::Branch> branch;
  if (late) branch.emplace(device_);
  const Tensor x = join(uses, &Product::x), dy = join(uses, &Product::dy);
  const int64_t several = dy.rank() == 3 ? dy.dim(0) : 1, rows = x.dim(0), in = x.dim(1), out = dy.dim(-1);
  kernels(device_).matmul(stream(device_),
                          {.a = {.tensor = dy, .row_stride = out, .batch_stride = rows * out, .transposed = true},
                           .b = {.tensor = x, .row_stride = in},
                           .c = {.tensor = sum_of(gradient), .row_stride = in, .batch_stride = out * in},
                           .m = out,
                           .n = in,
                           .k = rows,
                           .batch = several,
                           .accumulate = true,
                           .precision = uses->precision});
  const auto add_to_bias = [&](Gradient& bias, const Tensor& part, int64_t count) {
    kernels(device_).reduce(stream(device_), {.op = ReduceOp::kSum,
                                              .x = part,
                                              .y = sum_of(bias),
                                              .outer = several,
                                              .count = count,
                                              .inner = out,
                                              .accumulate = true});
  };
  // Neighbouring uses with the same bias are summed together; in practice that is all of them.
  int64_t row = 0;
  for (const Product* use = uses; use != nullptr;) {
    Gradient* bias = use->bias;
    const int64_t begin = row;
    for (; use != nullptr && use->bias == bias; use = use->next) row += use->x.dim(0);
    if (bias != nullptr) add_to_bias(*bias, several > 1 ? dy : dy.slice(begin, row), row - begin);
  }
  for (const Product* use = uses; late && use != nullptr; use = use->next) read_beside_.push_back(use->dy.raw());
  if (uses->next != nullptr) {
    for (const Tensor& made : {x, dy}) late ? keep_beside(made) : give_back(made);
  }
  drop(gradient);
}

Tensor Tape::beside(Gradient& gradient) {
  Gradient* all = gradient.whole != nullptr ? gradient.whole : &gradient;
  if (!std::exchange(all->beside, false)) beside_.push_back(all);
  Tensor sum = gradient.tensor();
  all->beside = true;
  return sum;
}

void Tape::keep_beside(const Tensor& x) {
  kept_beside_.push_back(x);
  kept_bytes_ += x.bytes();
}

void Tape::meet() {
  if (beside_.empty()) return;
  cuda::join_branches(device_);
  for (const Tensor& x : kept_beside_) give_back(x);
  forget_beside();
}

void Tape::forget_beside() {
  for (Gradient* gradient : beside_) gradient->beside = false;
  beside_.clear();
  read_beside_.clear();
  kept_beside_.clear();
  kept_bytes_ = 0;
}

void Tape::drop(Gradient& gradient) {
  if (PutOff* put_off = std::exchange(gradient.put_off, nullptr)) put_off->~PutOff();
  for (Product* use = std::exchange(gradient.products, nullptr); use != nullptr;) {
    Product* next = use->next;
    use->~Product();
    use = next;
  }
}

void Tape::backward(const Var& loss) {
  check(loss.size() == 1, "backward: expected a scalar loss, got {}", loss.shape());
  check(loss.needs_grad(), "backward: expected a loss that was recorded, got a constant");
  const Recording recording(*this);
  kernels(device_).affine(stream(device_), {.y = loss.grad(), .beta = 1.0f});
  run_backward();
}

void Tape::backward(std::span<const Seed> seeds) {
  const Recording recording(*this);
  for (const auto& [y, dy] : seeds) {
    check(dy.shape() == y.shape(), "backward: expected a gradient of shape {}, got {}", y.shape(), dy.shape());
    check(y.needs_grad(), "backward: expected a value that was recorded, got a constant");
    kernels(device_).affine(stream(device_), {.x = dy, .y = y.grad(), .accumulate = true});
  }
  run_backward();
}

bool Tape::hand_over(const Var& x, bool second) {
  Gradient *from = second ? &running_->second : &running_->first, *to = x.gradient();
  if (to->whole != nullptr || to->sum || to->products != nullptr || !from->sum ||
      from->shape.count() != to->shape.count() || lies_in(from->sum, held_) || lies_in(from->sum, read_beside_))
    return false;
  to->sum = std::exchange(from->sum, {}).reshape(to->shape);
  return true;
}

void Tape::recycle(Gradient& gradient) {
  if (!gradient.sum || gradient.sum.buffer() != nullptr) return;
  const Tensor sum = std::exchange(gradient.sum, {});
  if (lies_in(sum, held_)) return;
  if (!lies_in(sum, read_beside_)) return give_back(sum);
  keep_beside(sum);
  if (kept_bytes_ > kMostBeside) meet();
}

void Tape::run_backward() {
  try {
    for (Node* node = last_; node != nullptr; node = node->before) {
      if (!node->first.present() && !node->second.present()) continue;
      settle(node->first);
      settle(node->second);
      running_ = node;
      // Copies: a gradient may be handed over.
      const Tensor dy = node->first.whole != nullptr ? node->first.tensor() : node->first.sum, dz = node->second.sum;
      node->backward(node, dy, dz);
      recycle(node->first);
      recycle(node->second);
    }
    running_ = nullptr;
    meet();
    for (Gradient* gradient : waiting_) settle(*gradient);
  } catch (...) {
    running_ = nullptr;
    forget_beside();
    throw;
  }
  waiting_.clear();
  held_.clear();
}

Recording::Recording(Tape& tape) : before_(current_tape), scope_(&tape.tensors_) { current_tape = &tape; }
Recording::~Recording() { current_tape = before_; }

}  // namespace fovea
