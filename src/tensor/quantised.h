// Rows of 8 bits that stand for f32 elements of a buffer, as models are shipped: q * scale, with one scale per row. The
// elements themselves are computed when they are first read, so that a model which is decoded in 8 bits never exists
// in f32.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

namespace fovea {

// A matrix in 8 bits. `owner` keeps the memory of values and scales.
struct QuantisedMatrix {
  int64_t rows = 0, columns = 0;
  const int8_t* values = nullptr;
  const std::byte* scales = nullptr;  // f32, at any address
  std::shared_ptr<const void> owner;

  float scale(int64_t row) const;
};

struct QuantisedRow {
  const int8_t* values = nullptr;  // null: there is no such row
  float scale = 0.0f;

  explicit operator bool() const { return values != nullptr; }
};

// The matrices of a buffer. All functions may be called by several threads.
class QuantisedContents {
 public:
  // The elements at `to` are those of the matrix, from now on.
  void add(float* to, QuantisedMatrix matrix);
  // Computes the elements within a range that have not been computed yet.
  void widen(const std::byte* begin, const std::byte* end);
  // Forgets the matrices within a range, after computing their elements.
  void drop(const std::byte* begin, const std::byte* end);
  // The row of a matrix with so many columns whose first element is at `at`.
  QuantisedRow row(const std::byte* at, int64_t columns) const;
  bool pending() const { return pending_.load(std::memory_order_acquire) > 0; }  // whether any are not computed

 private:
  struct Entry {
    float* to;
    QuantisedMatrix matrix;
    bool widened = false;

    const std::byte* begin() const { return reinterpret_cast<const std::byte*>(to); }
    const std::byte* end() const { return reinterpret_cast<const std::byte*>(to + matrix.rows * matrix.columns); }
  };
  // The first entry that ends after `at`.
  std::vector<Entry>::iterator first_after(const std::byte* at);
  std::vector<Entry>::const_iterator first_after(const std::byte* at) const;
  void widen(Entry& entry);

  mutable std::mutex mutex_;
  std::vector<Entry> entries_;  // by address
  std::atomic<int64_t> pending_{0};
};

}  // namespace fovea
