// A memory that is attended over step by step: what its gradient needs of each step is gathered, and computed for all
// steps together when it is due. A step alone would read and write all of the gradient for the sake of one query.
#pragma once

#include <cassert>
#include <vector>

#include "ops/ops.h"

namespace fovea {

// Steps in a list that lies in the tape's memory, the last one added first: backward adds them from the last to the
// first, so that the list is in the order of time.
template <class Look> class Looks : public DeferredGradient {
 public:
  using Use = Look;
  ~Looks() override { clear(); }
  void add(Tape& tape, const Look& look) {
    first_ = new (tape.allocate(sizeof(Kept))) Kept{look, first_};
    ++count_;
  }

 protected:
  // A tensor of all steps, joined: rows [outer, its share] side by side. One step's is taken as it is.
  Tensor joined(Tensor Look::*part, int64_t outer, const Shape& shape) {
    assert(first_ != nullptr);
    const Tensor& only = first_->look.*part;
    if (count_ == 1) return only.reshape(shape);
    thread_local std::vector<Piece> pieces;
    pieces.clear();
    for (const Kept* kept = first_; kept != nullptr; kept = kept->next) {
      const Tensor& x = kept->look.*part;
      pieces.push_back({x, x.size() / outer});
    }
    const Tensor made = empty(shape, only.dtype(), only.device());
    kernels(only.device()).concat(stream(only.device()), {.pieces = pieces, .joined = made, .outer = outer});
    pieces.clear();
    made_.push_back(made);
    return made;
  }
  int64_t queries(Tensor Look::*query) const {
    int64_t total = 0;
    for (const Kept* kept = first_; kept != nullptr; kept = kept->next) total += (kept->look.*query).dim(0);
    return total;
  }
  void release(Tape& tape) {
    for (const Tensor& x : made_) tape.release(x);
    made_.clear();
  }

 private:
  struct Kept {
    Look look;
    Kept* next;
  };
  void clear() {
    for (Kept* kept = first_; kept != nullptr;) {
      Kept* next = kept->next;
      kept->~Kept();
      kept = next;
    }
    first_ = nullptr;
  }
  Kept* first_ = nullptr;
  int64_t count_ = 0;
  std::vector<Tensor> made_;
};

}  // namespace fovea
