// Deferred gradients of a memory that is attended over step by step. One step alone would read and write the whole
// gradient of the memory for a single query; therefore each step only stores what its gradient needs, and flushing
// computes the gradients of all steps together.
#pragma once

#include <cassert>
#include <vector>

#include "ops/ops.h"

namespace fovea {

// A list of steps, allocated from the tape. Backward adds the last time step first and each is put in front of the
// list, which is therefore in the order of time.
template <class Step> class DeferredSteps : public DeferredGradient {
 public:
  using Use = Step;
  ~DeferredSteps() override { clear(); }
  void add(Tape& tape, const Step& step) {
    first_ = new (tape.allocate(sizeof(Entry))) Entry{step, first_};
    ++count_;
  }

 protected:
  // Concatenates one tensor of all steps along the columns of [outer, columns of a step]. A single step is not copied.
  Tensor joined(Tensor Step::*part, int64_t outer, const Shape& shape) {
    assert(first_ != nullptr);
    const Tensor& only = first_->step.*part;
    if (count_ == 1) return only.reshape(shape);
    thread_local std::vector<Piece> pieces;
    pieces.clear();
    for (const Entry* entry = first_; entry != nullptr; entry = entry->next) {
      const Tensor& x = entry->step.*part;
      pieces.push_back({x, x.size() / outer});
    }
    const Tensor result = empty(shape, only.dtype(), only.device());
    kernels(only.device()).concat(stream(only.device()), {.pieces = pieces, .joined = result, .outer = outer});
    pieces.clear();
    joined_.push_back(result);
    return result;
  }
  // The number of queries of all steps.
  int64_t queries(Tensor Step::*query) const {
    int64_t total = 0;
    for (const Entry* entry = first_; entry != nullptr; entry = entry->next) total += (entry->step.*query).dim(0);
    return total;
  }
  void release(Tape& tape) {
    for (const Tensor& x : joined_) tape.release(x);
    joined_.clear();
  }

 private:
  struct Entry {
    Step step;
    Entry* next;
  };
  void clear() {
    for (Entry* entry = first_; entry != nullptr;) {
      Entry* next = entry->next;
      entry->~Entry();
      entry = next;
    }
    first_ = nullptr;
  }
  Entry* first_ = nullptr;
  int64_t count_ = 0;
  std::vector<Tensor> joined_;
};

}  // namespace fovea
