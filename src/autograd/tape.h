// The tape: ops add a node for each computation, and backward() runs the nodes' closures in reverse order, in one flat
// loop. Nodes, gradients and all tensors of a pass are allocated in two arenas that reset() rewinds, so that after the
// first pass nothing is allocated from the heap.
//
// Gradients of weights are deferred: each use of a weight in a product stores its two factors (defer_product), and one
// GEMM over all uses computes the gradient when it is flushed. A loop of T steps therefore costs one GEMM per weight,
// like a whole-sequence layer. A use with many rows is computed immediately, because batching would not speed it up.
// Gradients of states that are attended to step by step are deferred in the same way (defer_gradient).
//
// No node reads the gradients of weights. While a CUDA graph is captured, their GEMMs are queued on a side stream
// (cuda::SideStreamScope), where they run concurrently with small kernels that do not fill the device.
//
// The memory of a gradient is reused for other tensors as soon as its node has run.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include "autograd/var.h"
#include "tensor/arena.h"

namespace fovea {

class Tape;

// One use of a weight, y = x weight^T + bias: its gradients are dweight += dy^T x and dbias += the sum of the rows of
// dy. With a dy of rank 3 the weight consists of `count` matrices of equal size, stored consecutively, that share x.
struct DeferredProduct {
  Tensor x, dy;  // [rows,in], [rows,out] or [count,rows,out]
  Gradient* bias = nullptr;
  Precision precision = Precision::kF32;
  DeferredProduct* next = nullptr;
};

// Contributions to one gradient that are collected during backward and computed together by flush().
class DeferredGradient {
 public:
  virtual ~DeferredGradient() = default;
  virtual void flush(Tape& tape) = 0;
};

class Tape {
 public:
  explicit Tape(Device device, uint64_t seed = 1);
  ~Tape();
  Tape(const Tape&) = delete;
  Tape& operator=(const Tape&) = delete;

  // Starts the next pass: destroys all nodes and invalidates every tensor that was allocated in a TapeScope.
  void reset();
  // Adds the gradient of `loss` (one element) to the gradients of all values that it was computed from.
  void backward(const Var& loss);
  // Starts from several values y of any shape whose gradients dy are given.
  struct Seed {
    Var y;
    Tensor dy;
  };
  void backward(std::span<const Seed> seeds);

  // reset() counts the steps from 1. Random numbers depend on the step; set_step restores it when a run is resumed.
  int64_t step() const { return step_; }
  void set_step(int64_t step);
  // Dropout is applied only in training mode, which is the default.
  bool training() const { return training_; }
  void set_training(bool training) { training_ = training; }
  // Returns a random stream that no other op of this step uses.
  RandomStream next_random_stream();
  // Limits the memory for the tensors of a pass, in bytes; 0 means no limit.
  void set_memory_limit(size_t bytes) { tensors_.set_limit(bytes); }
  // Returns the largest amount of memory that a pass has used so far, in bytes.
  size_t peak_bytes() const { return tensors_.peak() + nodes_.peak(); }
  // While the generation is unchanged, passes that allocate the same tensors in the same order get the same addresses.
  uint64_t generation() const { return tensors_.generation(); }

  // Returns the tape of the innermost TapeScope on this thread, or null.
  static Tape* current();

  // Adds the node of an op that computed y from inputs; backward(dy) adds to the gradients of the inputs. Without a
  // current tape, or when no input needs a gradient, no node is added and y is returned as a constant.
  template <class Backward>
  static Var add_node(const Tensor& y, std::initializer_list<Var> inputs, Backward&& backward) {
    return add_node_if(any_needs_grad(inputs), y, std::forward<Backward>(backward));
  }
  template <class Backward> static Var add_node_if(bool needed, const Tensor& y, Backward&& backward) {
    if (!needed || current() == nullptr) return y;
    auto* node = current()->add(y, Tensor(),
                                [run = std::forward<Backward>(backward)](const Tensor& dy, const Tensor&) { run(dy); });
    return Var(y, &node->first);
  }
  // Adds a node with two outputs. The closure receives an empty tensor for an output that has no gradient.
  template <class Backward>
  static std::pair<Var, Var> add_node(const Tensor& y, const Tensor& z, std::initializer_list<Var> inputs,
                                      Backward&& backward) {
    if (!any_needs_grad(inputs) || current() == nullptr) return {y, z};
    auto* node = current()->add(y, z, std::forward<Backward>(backward));
    return {Var(y, &node->first), Var(z, &node->second)};
  }
  static bool any_needs_grad(std::initializer_list<Var> inputs);
  // Adds the node of an op that adds a function of inputs to y in place. The gradient of y is also the gradient of the
  // added term, so the node shares it without a copy. No backward closure may read the value of y.
  template <class Backward>
  static void add_in_place_node(const Var& y, std::initializer_list<Var> inputs, Backward backward) {
    if (!any_needs_grad(inputs) || current() == nullptr) return;
    check(y.needs_grad(), "tape: expected a value with a gradient, got a constant");
    auto* node =
        current()->add(y.value(), Tensor(), [run = std::move(backward)](const Tensor& dy, const Tensor&) { run(dy); });
    node->first.whole = y.gradient()->whole != nullptr ? y.gradient()->whole : y.gradient();
    node->first.offset = y.gradient()->offset;
  }

  // Stores one use of a weight, for backward closures.
  void defer_product(const Var& weight, const DeferredProduct& use);
  // Adds `use` to the deferred gradient of x. The first use constructs the Deferred from `context`.
  template <class Deferred>
  void defer_gradient(const Var& x, const typename Deferred::Context& context, const typename Deferred::Use& use) {
    Gradient* gradient = x.gradient();
    if (gradient->deferred == nullptr) {
      deferred_.push_back(gradient);
      gradient->deferred = new (nodes_.allocate(sizeof(Deferred))) Deferred(context);
    }
    static_cast<Deferred*>(gradient->deferred)->add(*this, use);
    // No node flushes the gradient of a part of a computed value, so it is flushed here, as in defer_product.
    if (gradient->whole != nullptr && !gradient->leaf) flush(*gradient);
  }
  // Excludes the memory of x from reuse until the end of the pass.
  void retain(const Tensor& x) { retained_.push_back(x.raw()); }
  // Makes the memory of x available to later tensors of the pass.
  void release(const Tensor& x) { tensors_.release(x.raw(), x.bytes()); }
  // Moves the gradient of the running node's first or second output to x, which avoids a copy. Returns false, without
  // effect, if x already has a gradient or the memory is still in use.
  bool move_gradient_to(const Var& x, bool second = false);
  // Returns a Var whose gradient is the part of `whole` that starts at element `offset`.
  Var part(Tensor value, Gradient* whole, int64_t offset);
  // Makes the main stream wait for all work queued on the side stream.
  void join_side_stream();
  // Allocates host memory that lives until reset(), which runs no destructors in it.
  [[gnu::returns_nonnull]] std::byte* allocate(size_t bytes) { return nodes_.allocate(bytes); }

 private:
  friend class TapeScope;

  struct Node {
    Gradient first, second;
    Node* previous = nullptr;
    void (*backward)(Node*, const Tensor&, const Tensor&) = nullptr;
    void (*destroy)(Node*) = nullptr;
    Node(const Tensor& y, const Tensor& z) : first(y), second(z) {}
  };
  template <class Backward> struct NodeOf : Node {
    Backward closure;
    NodeOf(const Tensor& y, const Tensor& z, Backward b) : Node(y, z), closure(std::move(b)) {}
  };

  template <class Backward> Node* add(const Tensor& y, const Tensor& z, Backward closure) {
    using NodeType = NodeOf<Backward>;
    static_assert(alignof(NodeType) <= kAlignment);
    auto* node = new (nodes_.allocate(sizeof(NodeType))) NodeType(y, z, std::move(closure));
    node->backward = [](Node* self, const Tensor& dy, const Tensor& dz) {
      static_cast<NodeType*>(self)->closure(dy, dz);
    };
    node->destroy = [](Node* self) { static_cast<NodeType*>(self)->~NodeType(); };
    node->previous = last_;
    last_ = node;
    return node;
  }

  void run_backward();
  void recycle(Gradient& gradient);  // releases the gradient of a node that has run
  void clear();
  void flush(Gradient& gradient);                    // computes the contributions deferred for it
  static void discard_deferred(Gradient& gradient);  // destroys them without computing
  Tensor accumulate_on_side_stream(Gradient& gradient);
  void retain_for_side_stream(const Tensor& x);
  void reset_side_stream();
  Tensor concat_rows(const DeferredProduct* uses, Tensor DeferredProduct::*factor);

  Device device_;
  uint64_t seed_;
  int64_t step_ = 0;
  uint32_t next_random_op_ = 0;
  bool training_ = true;
  Tensor step_on_device_;
  Arena tensors_, nodes_;
  Node *last_ = nullptr, *running_ = nullptr;
  std::vector<Gradient*> deferred_;         // gradients with deferred contributions
  std::vector<const std::byte*> retained_;  // addresses that recycle() must not release, among them deferred factors
  // The work on the side stream adds to these gradients and reads these addresses; these tensors are released when it
  // is joined.
  std::vector<Gradient*> side_gradients_;
  std::vector<const std::byte*> side_reads_;
  std::vector<Tensor> side_retained_;
  size_t side_retained_bytes_ = 0;
  std::vector<Piece> pieces_;
};

// Within the scope, ops on this thread add their nodes to the tape and allocate their tensors from it.
class TapeScope {
 public:
  explicit TapeScope(Tape& tape);
  ~TapeScope();
  TapeScope(const TapeScope&) = delete;
  TapeScope& operator=(const TapeScope&) = delete;

 private:
  Tape* previous_;
  ArenaScope arena_;
};

// Vars that a closure saves for backward, in memory of the tape.
class SavedVars {
 public:
  SavedVars(Tape& tape, std::span<const Var> vars)
      : vars_(reinterpret_cast<Var*>(tape.allocate(vars.size_bytes())), vars.size()) {
    std::uninitialized_copy(vars.begin(), vars.end(), vars_.begin());
  }
  SavedVars(SavedVars&& other) noexcept : vars_(std::exchange(other.vars_, {})) {}
  SavedVars(const SavedVars&) = delete;
  SavedVars& operator=(const SavedVars&) = delete;
  SavedVars& operator=(SavedVars&&) = delete;
  ~SavedVars() { std::destroy(vars_.begin(), vars_.end()); }

  auto begin() const { return vars_.begin(); }
  auto end() const { return vars_.end(); }

 private:
  std::span<Var> vars_;
};

}  // namespace fovea
