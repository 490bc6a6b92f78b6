// The functions of kernels/pointwise.h. This file has no guard, namespace or includes: a SIMD kernel includes it once
// for each instruction set, inside its namespace, because a function uses the instruction set of its definition. All
// other files include kernels/pointwise.h.

// Each functor has forward(x), and grad(z, dy) where z is x if kReadsInput, else y.
struct Tanh {
  static constexpr bool kReadsInput = false;
  template <class V> FOVEA_HOST_DEVICE static V forward(V x) { return tanh(x); }
  template <class V> FOVEA_HOST_DEVICE static V grad(V y, V dy) { return dy * (V(1) - y * y); }
};
struct Sigmoid {
  static constexpr bool kReadsInput = false;
  template <class V> FOVEA_HOST_DEVICE static V forward(V x) { return sigmoid(x); }
  template <class V> FOVEA_HOST_DEVICE static V grad(V y, V dy) { return dy * y * (V(1) - y); }
};
struct Relu {
  static constexpr bool kReadsInput = false;
  template <class V> FOVEA_HOST_DEVICE static V forward(V x) { return maximum(x, V(0)); }
  template <class V> FOVEA_HOST_DEVICE static V grad(V y, V dy) { return if_greater(y, V(0), dy, V(0)); }
};
struct Gelu {  // the tanh approximation of Hendrycks & Gimpel 2016
  static constexpr bool kReadsInput = true;
  static constexpr double kC = 0.7978845608028654, kA = 0.044715;  // kC is sqrt(2/pi)
  template <class V> FOVEA_HOST_DEVICE static V forward(V x) {
    const V t = tanh(V(kC) * (x + V(kA) * x * x * x));
    return V(0.5) * x * (V(1) + t);
  }
  template <class V> FOVEA_HOST_DEVICE static V grad(V x, V dy) {
    const V t = tanh(V(kC) * (x + V(kA) * x * x * x));
    const V inner = V(kC) * (V(1) + V(3 * kA) * x * x);
    return dy * V(0.5) * ((V(1) + t) + x * (V(1) - t * t) * inner);
  }
};
struct Exp {
  static constexpr bool kReadsInput = false;
  template <class V> FOVEA_HOST_DEVICE static V forward(V x) { return exp(x); }
  template <class V> FOVEA_HOST_DEVICE static V grad(V y, V dy) { return dy * y; }
};
struct Log {
  static constexpr bool kReadsInput = true;
  template <class V> FOVEA_HOST_DEVICE static V forward(V x) { return log(x); }
  template <class V> FOVEA_HOST_DEVICE static V grad(V x, V dy) { return dy / x; }
};
struct Sqrt {
  static constexpr bool kReadsInput = false;
  template <class V> FOVEA_HOST_DEVICE static V forward(V x) { return sqrt(x); }
  template <class V> FOVEA_HOST_DEVICE static V grad(V y, V dy) { return V(0.5) * dy / y; }
};
struct Square {
  static constexpr bool kReadsInput = true;
  template <class V> FOVEA_HOST_DEVICE static V forward(V x) { return x * x; }
  template <class V> FOVEA_HOST_DEVICE static V grad(V x, V dy) { return V(2) * x * dy; }
};
struct Abs {
  static constexpr bool kReadsInput = true;
  template <class V> FOVEA_HOST_DEVICE static V forward(V x) { return abs(x); }
  template <class V> FOVEA_HOST_DEVICE static V grad(V x, V dy) {
    return if_greater(x, V(0), dy, if_greater(V(0), x, V(0) - dy, V(0)));
  }
};
struct Reciprocal {
  static constexpr bool kReadsInput = false;
  template <class V> FOVEA_HOST_DEVICE static V forward(V x) { return V(1) / x; }
  template <class V> FOVEA_HOST_DEVICE static V grad(V y, V dy) { return V(0) - dy * y * y; }
};

// Each functor has forward(a, b), grad_a(a, b, dy) and grad_b(a, b, dy). If a and b are equal, a gets the gradient of a
// maximum or minimum.
struct Add {
  template <class V> FOVEA_HOST_DEVICE static V forward(V a, V b) { return a + b; }
  template <class V> FOVEA_HOST_DEVICE static V grad_a(V, V, V dy) { return dy; }
  template <class V> FOVEA_HOST_DEVICE static V grad_b(V, V, V dy) { return dy; }
};
struct Subtract {
  template <class V> FOVEA_HOST_DEVICE static V forward(V a, V b) { return a - b; }
  template <class V> FOVEA_HOST_DEVICE static V grad_a(V, V, V dy) { return dy; }
  template <class V> FOVEA_HOST_DEVICE static V grad_b(V, V, V dy) { return V(0) - dy; }
};
struct Multiply {
  template <class V> FOVEA_HOST_DEVICE static V forward(V a, V b) { return a * b; }
  template <class V> FOVEA_HOST_DEVICE static V grad_a(V, V b, V dy) { return dy * b; }
  template <class V> FOVEA_HOST_DEVICE static V grad_b(V a, V, V dy) { return dy * a; }
};
struct Divide {
  template <class V> FOVEA_HOST_DEVICE static V forward(V a, V b) { return a / b; }
  template <class V> FOVEA_HOST_DEVICE static V grad_a(V, V b, V dy) { return dy / b; }
  template <class V> FOVEA_HOST_DEVICE static V grad_b(V a, V b, V dy) { return V(0) - dy * a / (b * b); }
};
struct Maximum {
  template <class V> FOVEA_HOST_DEVICE static V forward(V a, V b) { return maximum(a, b); }
  template <class V> FOVEA_HOST_DEVICE static V grad_a(V a, V b, V dy) { return if_at_least(a, b, dy, V(0)); }
  template <class V> FOVEA_HOST_DEVICE static V grad_b(V a, V b, V dy) { return if_greater(b, a, dy, V(0)); }
};
struct Minimum {
  template <class V> FOVEA_HOST_DEVICE static V forward(V a, V b) { return minimum(a, b); }
  template <class V> FOVEA_HOST_DEVICE static V grad_a(V a, V b, V dy) { return if_at_least(b, a, dy, V(0)); }
  template <class V> FOVEA_HOST_DEVICE static V grad_b(V a, V b, V dy) { return if_greater(a, b, dy, V(0)); }
};

// Calls body with the functor of an op. This is the only mapping from names to functors.
template <class Body> decltype(auto) visit(UnaryOp op, Body&& body) {
  switch (op) {
    case UnaryOp::kTanh: return body(Tanh{});
    case UnaryOp::kSigmoid: return body(Sigmoid{});
    case UnaryOp::kRelu: return body(Relu{});
    case UnaryOp::kGelu: return body(Gelu{});
    case UnaryOp::kExp: return body(Exp{});
    case UnaryOp::kLog: return body(Log{});
    case UnaryOp::kSqrt: return body(Sqrt{});
    case UnaryOp::kSquare: return body(Square{});
    case UnaryOp::kAbs: return body(Abs{});
    case UnaryOp::kReciprocal: break;
  }
  return body(Reciprocal{});
}
template <class Body> decltype(auto) visit(BinaryOp op, Body&& body) {
  switch (op) {
    case BinaryOp::kAdd: return body(Add{});
    case BinaryOp::kSubtract: return body(Subtract{});
    case BinaryOp::kMultiply: return body(Multiply{});
    case BinaryOp::kDivide: return body(Divide{});
    case BinaryOp::kMaximum: return body(Maximum{});
    case BinaryOp::kMinimum: break;
  }
  return body(Minimum{});
}
