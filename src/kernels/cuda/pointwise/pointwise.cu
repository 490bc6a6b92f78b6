// Elementwise kernels. kernels/pointwise.h defines the functions and their derivatives.
#include "kernels/pointwise.h"

#include "kernels/cuda/functions.h"
#include "kernels/cuda/reduce/deterministic_sums.h"

namespace fovea::cuda {

namespace {

// ---- affine ------------------------------------------------------------------------------------

// Loads and stores convert to and from A: f64 if either tensor is f64, else f32.
template <class A, class T> __device__ A read(const T* x) {
  if constexpr (std::is_same_v<T, bf16>) {
    return static_cast<A>(load(x));
  } else {
    return static_cast<A>(*x);
  }
}
template <class A, class T> __device__ void write(T* x, A value) {
  if constexpr (std::is_same_v<T, bf16>) {
    *x = bf16(static_cast<float>(value));
  } else {
    *x = static_cast<T>(value);
  }
}

template <int kCount, class A, class X, class Y>
__global__ void affine_kernel(const X* x, Y* y, int64_t count, float alpha, float beta, bool accumulate) {
  for (int64_t i = kCount * first_element(); i < count; i += kCount * element_stride()) {
    Pack<X, kCount> from = {};
    Pack<Y, kCount> to = {};
    if (x != nullptr) from = load_pack<kCount>(x + i);
    if (accumulate) to = load_pack<kCount>(y + i);
    for (int k = 0; k < kCount; ++k) {
      A value = static_cast<A>(beta);
      if (x != nullptr) value += static_cast<A>(alpha) * read<A>(from.x + k);
      if (accumulate) value += read<A>(to.x + k);
      write(to.x + k, value);
    }
    store_pack(y + i, to);
  }
}

template <class Body> void with_any_type(DType dtype, Body&& body) {
  switch (dtype) {
    case DType::kF32: return body(float{});
    case DType::kBF16: return body(bf16{});
    case DType::kI32: return body(int32_t{});
    case DType::kF64: return body(double{});
  }
}

// ---- unary -------------------------------------------------------------------------------------

template <int kCount, class F, class T> __global__ void unary_kernel(const T* x, T* y, int64_t count) {
  for (int64_t i = kCount * first_element(); i < count; i += kCount * element_stride()) {
    Pack<T, kCount> pack = load_pack<kCount>(x + i);
    for (T& element : pack.x) store(&element, F::forward(load(&element)));
    store_pack(y + i, pack);
  }
}

template <int kCount, class F, class T>
__global__ void unary_grad_kernel(const T* z, const T* dy, T* dx, int64_t count, bool accumulate) {
  for (int64_t i = kCount * first_element(); i < count; i += kCount * element_stride()) {
    const Pack<T, kCount> at = load_pack<kCount>(z + i), from = load_pack<kCount>(dy + i);
    Pack<T, kCount> to = {};
    if (accumulate) to = load_pack<kCount>(dx + i);
    for (int k = 0; k < kCount; ++k) {
      const float d = F::grad(load(at.x + k), load(from.x + k));
      store(to.x + k, accumulate ? load(to.x + k) + d : d);
    }
    store_pack(dx + i, to);
  }
}

// ---- binary ------------------------------------------------------------------------------------

// The broadcast of b: maps element i of a [outer, middle, inner] to an element of b.
struct Broadcast {
  int64_t middle, inner;
  __device__ int64_t operator()(int64_t i) const { return inner == 1 ? i % middle : i / inner % middle; }
  // If this number is a multiple of kPack, a pack of a never crosses from one element of b to another, or the end of b.
  int64_t packed(int64_t count) const { return middle == INT64_MAX ? count : inner == 1 ? middle : inner; }
};
Broadcast spread_of(const Tensor& b, int64_t outer, int64_t inner) {
  return outer * inner == 1 ? Broadcast{INT64_MAX, 1} : Broadcast{b.size(), inner};
}

// Returns the elements of b for a pack of a: consecutive elements, or one element repeated.
template <int kCount, class T>
__device__ Pack<T, kCount> load_broadcast(const T* b, int64_t i, const Broadcast& broadcast) {
  if (broadcast.inner == 1) return load_pack<kCount>(b + broadcast(i));
  Pack<T, kCount> pack;
  for (T& element : pack.x) element = b[broadcast(i)];
  return pack;
}

template <int kCount, class F, class T>
__global__ void binary_kernel(const T* a, const T* b, T* y, int64_t count, Broadcast broadcast) {
  for (int64_t i = kCount * first_element(); i < count; i += kCount * element_stride()) {
    Pack<T, kCount> pack = load_pack<kCount>(a + i);
    const Pack<T, kCount> other = load_broadcast<kCount>(b, i, broadcast);
    for (int k = 0; k < kCount; ++k) store(pack.x + k, F::forward(load(pack.x + k), load(other.x + k)));
    store_pack(y + i, pack);
  }
}

template <int kCount, class F, class T>
__global__ void binary_grad_a_kernel(const T* a, const T* b, const T* dy, T* da, int64_t count, Broadcast broadcast) {
  for (int64_t i = kCount * first_element(); i < count; i += kCount * element_stride()) {
    const Pack<T, kCount> own = load_pack<kCount>(a + i), from = load_pack<kCount>(dy + i);
    const Pack<T, kCount> other = load_broadcast<kCount>(b, i, broadcast);
    Pack<T, kCount> to = load_pack<kCount>(da + i);
    for (int k = 0; k < kCount; ++k) {
      add(to.x + k, F::grad_a(load(own.x + k), load(other.x + k), load(from.x + k)));
    }
    store_pack(da + i, to);
  }
}

// The contribution of element (o, j, i) to db[j], as f(j, o * inner + i) for row_sums or, if inner is 1, as f(o, j) for
// column_sums.
template <class F, class T> struct GradOfB {
  const T *a, *b, *dy;
  int64_t middle, inner;

  __device__ float at(int64_t j, int64_t element) const {
    return F::grad_b(load(a + element), load(b + j), load(dy + element));
  }
};
template <class F, class T> struct GradOfBInRows : GradOfB<F, T> {
  __device__ float operator()(int64_t j, int64_t k) const {
    return this->at(j, (k / this->inner * this->middle + j) * this->inner + k % this->inner);
  }
};
template <class F, class T> struct GradOfBInColumns : GradOfB<F, T> {
  __device__ float operator()(int64_t o, int64_t j) const { return this->at(j, o * this->middle + j); }
};

// The gradient of a b that is not broadcast.
template <class F, class T> __global__ void binary_grad_b_kernel(GradOfB<F, T> grad, T* db, int64_t count) {
  for (int64_t k = first_element(); k < count; k += element_stride()) add(db + k, grad.at(k, k));
}

}  // namespace

void affine(Stream& stream, const AffineArgs& args) {
  const DType from = args.x ? args.x.dtype() : args.y.dtype();
  with_any_type(from, [&]<class X>(X) {
    with_any_type(args.y.dtype(), [&]<class Y>(Y) {
      using A = std::conditional_t<std::is_same_v<X, double> || std::is_same_v<Y, double>, double, float>;
      with_pack(args.y.size(), {args.x.raw(), args.y.raw()}, [&](auto pack) {
        constexpr int kCount = decltype(pack)::value;
        launch(stream, affine_kernel<kCount, A, X, Y>, elements_grid(args.y.size() / kCount), args.x.data<X>(),
               args.y.data<Y>(), args.y.size(), args.alpha, args.beta, args.accumulate);
      });
    });
  });
}

void unary(Stream& stream, const UnaryArgs& args) {
  with_type_of(args.x, [&]<class T>(T) {
    pointwise::visit(args.op, [&]<class F>(F) {
      with_pack(args.x.size(), {args.x.raw(), args.y.raw()}, [&](auto pack) {
        constexpr int kCount = decltype(pack)::value;
        launch(stream, unary_kernel<kCount, F, T>, elements_grid(args.x.size() / kCount), args.x.data<T>(),
               args.y.data<T>(), args.x.size());
      });
    });
  });
}

void unary_grad(Stream& stream, const UnaryGradArgs& args) {
  if (!args.dx) return;
  with_type_of(args.dy, [&]<class T>(T) {
    pointwise::visit(args.op, [&]<class F>(F) {
      const Tensor& read = F::kReadsInput ? args.x : args.y;
      with_pack(args.dx.size(), {read.raw(), args.dy.raw(), args.dx.raw()}, [&](auto pack) {
        constexpr int kCount = decltype(pack)::value;
        launch(stream, unary_grad_kernel<kCount, F, T>, elements_grid(args.dx.size() / kCount), read.template data<T>(),
               args.dy.data<T>(), args.dx.data<T>(), args.dx.size(), args.accumulate);
      });
    });
  });
}

void binary(Stream& stream, const BinaryArgs& args) {
  const Broadcast broadcast = spread_of(args.b, args.outer, args.inner);
  with_type_of(args.a, [&]<class T>(T) {
    pointwise::visit(args.op, [&]<class F>(F) {
      with_pack(broadcast.packed(args.a.size()), {args.a.raw(), args.b.raw(), args.y.raw()}, [&](auto pack) {
        constexpr int kCount = decltype(pack)::value;
        launch(stream, binary_kernel<kCount, F, T>, elements_grid(args.a.size() / kCount), args.a.data<T>(),
               args.b.data<T>(), args.y.data<T>(), args.a.size(), broadcast);
      });
    });
  });
}

void binary_grad(Stream& stream, const BinaryGradArgs& args) {
  const Broadcast broadcast = spread_of(args.b, args.outer, args.inner);
  const int64_t outer = args.outer, middle = args.b.size(), inner = args.inner;
  with_type_of(args.a, [&]<class T>(T) {
    pointwise::visit(args.op, [&]<class F>(F) {
      const T *a = args.a.data<T>(), *b = args.b.data<T>(), *dy = args.dy.data<T>();
      if (args.da) {
        with_pack(broadcast.packed(args.a.size()), {a, b, dy, args.da.raw()}, [&](auto pack) {
          constexpr int kCount = decltype(pack)::value;
          launch(stream, binary_grad_a_kernel<kCount, F, T>, elements_grid(args.a.size() / kCount), a, b, dy,
                 args.da.data<T>(), args.a.size(), broadcast);
        });
      }
      if (!args.db || middle == 0) return;
      const GradOfB<F, T> grad = {a, b, dy, middle, inner};
      const SumTo<T> db = {args.db.data<T>()};
      if (outer == 1 && inner == 1) {
        launch(stream, binary_grad_b_kernel<F, T>, elements_grid(middle), grad, args.db.data<T>(), middle);
      } else if (inner == 1 && middle > 1) {
        column_sums(stream, 1, outer, middle, GradOfBInColumns<F, T>{grad}, db);
      } else {
        row_sums(stream, middle, outer * inner, GradOfBInRows<F, T>{grad}, db);
      }
    });
  });
}

}  // namespace fovea::cuda
