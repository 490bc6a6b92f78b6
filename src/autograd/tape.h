// The tape: ops record closures on it while they compute, and backward() runs them in reverse, in one
// flat loop. Closures, gradients and every tensor of the pass lie in two arenas that reset() rewinds,
// so after a first pass recording allocates nothing from the heap.
//
// Gradients of weights are put off: each use of a weight in a product leaves its factors behind
// (defer), and when the weight's gradient is due all of them become one product over all uses. A loop
// of T steps written by hand thus costs one product per weight, like a whole-sequence layer. A use that has
// many rows by itself is not put off, for there is nothing to gain.
//
// What is attended over, step after step, is put off likewise (put_off).
//
// Nobody in a pass needs the gradients of weights: where it is recorded on a card, their products are beside the rest
// (cuda::Branch), much of which is too small to fill the card.
//
// A gradient is needed until its node has run: then its memory serves those that come after.
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

// One use of a weight: y = x weight^T + bias, so d weight += dy^T x and d bias += sum of dy's rows. Or of several of
// the same size that lie one after the other, and have x in common.
struct Product {
  Tensor x, dy;  // [rows,in], [rows,out], or [several,rows,out]
  Gradient* bias = nullptr;
  Precision precision = Precision::kF32;
  Product* next = nullptr;
};

// Parts of a gradient that are better computed together, when it is due.
class PutOff {
 public:
  virtual ~PutOff() = default;
  virtual void settle(Tape& tape) = 0;
};

class Tape {
 public:
  explicit Tape(Device device, uint64_t seed = 1);
  ~Tape();
  Tape(const Tape&) = delete;
  Tape& operator=(const Tape&) = delete;

  // Starts the next pass: everything recorded, and every tensor made while recording, is gone.
  void reset();
  // Adds the gradient of `loss` (one element) to everything it was computed from.
  void backward(const Var& loss);
  // The same from several values y of any shape whose gradients dy are known.
  struct Seed {
    Var y;
    Tensor dy;
  };
  void backward(std::span<const Seed> seeds);

  // Steps are counted from 1 by reset(); random numbers depend on them. For resuming a run.
  int64_t step() const { return step_; }
  void set_step(int64_t step);
  // Whether dropout drops. On by default.
  bool training() const { return training_; }
  void set_training(bool training) { training_ = training; }
  // Names the next random numbers of this pass.
  RandomSite next_random();
  // The most memory that the tensors of a pass may take, in bytes; 0 for what there is.
  void set_memory_limit(size_t bytes) { tensors_.set_limit(bytes); }
  // Memory held for passes, in bytes.
  size_t peak_bytes() const { return tensors_.peak() + records_.peak(); }
  // While it stays the same, passes that make the same tensors in the same order have them at the same addresses.
  uint64_t generation() const { return tensors_.generation(); }

  // The tape that ops on this thread record on, or null.
  static Tape* current();

  // For ops: y was computed from inputs; backward(dy) adds to their gradients. When nothing records or
  // no input needs a gradient, y is a constant and the closure is dropped.
  template <class Backward> static Var record(const Tensor& y, std::initializer_list<Var> inputs, Backward&& backward) {
    return record_if(any_needs_grad(inputs), y, std::forward<Backward>(backward));
  }
  template <class Backward> static Var record_if(bool needed, const Tensor& y, Backward&& backward) {
    if (!needed || current() == nullptr) return y;
    auto* node = current()->add(y, Tensor(),
                                [run = std::forward<Backward>(backward)](const Tensor& dy, const Tensor&) { run(dy); });
    return Var(y, &node->first);
  }
  // The same for two outputs; the closure gets an empty tensor for one that no gradient came to.
  template <class Backward>
  static std::pair<Var, Var> record(const Tensor& y, const Tensor& z, std::initializer_list<Var> inputs,
                                    Backward&& backward) {
    if (!any_needs_grad(inputs) || current() == nullptr) return {y, z};
    auto* node = current()->add(y, z, std::forward<Backward>(backward));
    return {Var(y, &node->first), Var(z, &node->second)};
  }
  static bool any_needs_grad(std::initializer_list<Var> inputs);
  // For an op that changes y in place, adding something computed from inputs: y's gradient is also that of what was
  // added, and stays where it is. Nobody's backward may read y's value.
  template <class Backward>
  static void record_onto(const Var& y, std::initializer_list<Var> inputs, Backward backward) {
    if (!any_needs_grad(inputs) || current() == nullptr) return;
    check(y.needs_grad(), "tape: expected a value with a gradient, got a constant");
    auto* node =
        current()->add(y.value(), Tensor(), [run = std::move(backward)](const Tensor& dy, const Tensor&) { run(dy); });
    node->first.whole = y.gradient()->whole != nullptr ? y.gradient()->whole : y.gradient();
    node->first.offset = y.gradient()->offset;
  }

  // For backward closures: leaves behind one use of a weight.
  void defer(const Var& weight, const Product& use);
  // Leaves behind a part of x's gradient, in what Made gathers: made from `about` where it is the first.
  template <class Made> void put_off(const Var& x, const typename Made::About& about, const typename Made::Use& use) {
    Gradient* gradient = x.gradient();
    if (gradient->put_off == nullptr) {
      waiting_.push_back(gradient);
      gradient->put_off = new (records_.allocate(sizeof(Made))) Made(about);
    }
    static_cast<Made*>(gradient->put_off)->add(*this, use);
    // As with defer: nobody else would settle a part of something computed.
    if (gradient->whole != nullptr && !gradient->leaf) settle(*gradient);
  }
  // Its memory is not given to others before the pass is over.
  void hold(const Tensor& x) { held_.push_back(x.raw()); }
  void give_back(const Tensor& x) { tensors_.give_back(x.raw(), x.bytes()); }
  // Makes the gradient of the node that runs, of its first or second output, that of x, if x has none yet: nothing is
  // copied. False if it has.
  bool hand_over(const Var& x, bool second = false);
  // A value that shares its gradient with a part of another's, beginning at `offset` elements.
  Var part(Tensor value, Gradient* whole, int64_t offset);
  // What comes now comes after all that is beside the rest of the pass.
  void meet();
  // Memory that lives until reset(); nothing in it is destroyed.
  [[gnu::returns_nonnull]] std::byte* keep(size_t bytes) { return records_.allocate(bytes); }

 private:
  friend class Recording;

  struct Node {
    Gradient first, second;
    Node* before = nullptr;
    void (*backward)(Node*, const Tensor&, const Tensor&) = nullptr;
    void (*destroy)(Node*) = nullptr;
    Node(const Tensor& y, const Tensor& z) : first(y), second(z) {}
  };
  template <class Backward> struct NodeOf : Node {
    Backward closure;
    NodeOf(const Tensor& y, const Tensor& z, Backward b) : Node(y, z), closure(std::move(b)) {}
  };

  template <class Backward> Node* add(const Tensor& y, const Tensor& z, Backward closure) {
    using Made = NodeOf<Backward>;
    static_assert(alignof(Made) <= kAlignment);
    auto* node = new (records_.allocate(sizeof(Made))) Made(y, z, std::move(closure));
    node->backward = [](Node* self, const Tensor& dy, const Tensor& dz) { static_cast<Made*>(self)->closure(dy, dz); };
    node->destroy = [](Node* self) { static_cast<Made*>(self)->~Made(); };
    node->before = last_;
    last_ = node;
    return node;
  }

  void run_backward();
  void recycle(Gradient& gradient);  // whose node has run
  void clear();
  void settle(Gradient& gradient);       // does the products put off for it
  static void drop(Gradient& gradient);  // forgets them
  Tensor beside(Gradient& gradient);     // what to add to, beside the rest
  void keep_beside(const Tensor& x);
  void forget_beside();
  Tensor join(const Product* uses, Tensor Product::*factor);

  Device device_;
  uint64_t seed_;
  int64_t step_ = 0;
  uint32_t next_site_ = 0;
  bool training_ = true;
  Tensor step_on_device_;
  Arena tensors_, records_;
  Node *last_ = nullptr, *running_ = nullptr;
  std::vector<Gradient*> waiting_;      // gradients with products put off
  std::vector<const std::byte*> held_;  // where the factors of those products lie
  // What is beside the rest adds to these gradients, reads what lies here, and kept this from being given back.
  std::vector<Gradient*> beside_;
  std::vector<const std::byte*> read_beside_;
  std::vector<Tensor> kept_beside_;
  size_t kept_bytes_ = 0;
  std::vector<Piece> pieces_;
};

// While it lives, ops on this thread record on the tape and take their memory from it.
class Recording {
 public:
  explicit Recording(Tape& tape);
  ~Recording();
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;

 private:
  Tape* before_;
  ArenaScope scope_;
};

// Any number of Vars kept by a closure, in the tape's own memory.
class KeptVars {
 public:
  KeptVars(Tape& tape, std::span<const Var> vars)
      : vars_(reinterpret_cast<Var*>(tape.keep(vars.size_bytes())), vars.size()) {
    std::uninitialized_copy(vars.begin(), vars.end(), vars_.begin());
  }
  KeptVars(KeptVars&& other) noexcept : vars_(std::exchange(other.vars_, {})) {}
  KeptVars(const KeptVars&) = delete;
  KeptVars& operator=(const KeptVars&) = delete;
  KeptVars& operator=(KeptVars&&) = delete;
  ~KeptVars() { std::destroy(vars_.begin(), vars_.end()); }

  auto begin() const { return vars_.begin(); }
  auto end() const { return vars_.end(); }

 private:
  std::span<Var> vars_;
};

}  // namespace fovea
