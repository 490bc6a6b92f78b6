// The cross-entropy of a softmax with label smoothing (Szegedy et al. 2016). Each team of threads processes one row;
// the forward kernel reads the logits once.
#include "kernels/cuda/common/device_primitives.h"
#include "kernels/cuda/functions.h"

namespace fovea::cuda {

namespace {

// An online softmax denominator: the largest value so far and the sum of exp(x - largest).
struct ExpSum {
  float largest = -kInfinity, sum = 0.0f;

  template <class T, int kCount> __device__ void see(const Pack<T, kCount>& pack) {
    float running_max = -kInfinity;
#pragma unroll
    for (int k = 0; k < kCount; ++k) running_max = fmaxf(running_max, load(pack.x + k));
    if (running_max > largest) {
      sum *= expf(largest - running_max);  // exp(-inf) is 0
      largest = running_max;
    }
#pragma unroll
    for (int k = 0; k < kCount; ++k) {
      const float x = load(pack.x + k);
      if (x != -kInfinity) sum += expf(x - largest);  // a NaN propagates
    }
  }
  __device__ float log() const { return largest == -kInfinity ? sum - kInfinity : largest + logf(sum); }
};

template <int kTeam, int kCount, class T>
__global__ void cross_entropy_kernel(const T* logits, const int32_t* targets, float* loss, float* lse, int64_t rows,
                                     int64_t classes, float smoothing, int32_t ignore) {
  const int64_t row = team_row();
  if (row >= rows) return;
  logits += row * classes;
  ExpSum seen;
  float plain = 0.0f;
  for (int64_t v = kCount * threadIdx.x; v < classes; v += kCount * kTeam) {
    const Pack<T, kCount> pack = load_pack<kCount>(logits + v);
    seen.see(pack);
#pragma unroll
    for (int k = 0; k < kCount; ++k) plain += load(pack.x + k);
  }
  const float largest = Team<kTeam>::largest(seen.largest);
  const float own = seen.largest == -kInfinity ? seen.sum : seen.sum * expf(seen.largest - largest);
  ExpSum all;
  all.largest = largest;
  all.sum = Team<kTeam>::sum(own);
  plain = smoothing == 0.0f ? 0.0f : Team<kTeam>::sum(plain);
  if (threadIdx.x != 0) return;
  const float total = all.log();
  lse[row] = total;
  const int32_t target = targets[row];
  float value = 0.0f;
  if (target != ignore) {
    value = (1.0f - smoothing) * (total - load(logits + target));
    if (smoothing != 0.0f) value += smoothing * (total - plain / static_cast<float>(classes));
  }
  loss[row] = value;
}

// dlogits = dloss (p - q), where q is the smoothed target distribution.
template <int kCount, class T>
__global__ void cross_entropy_grad_kernel(const T* logits, const int32_t* targets, const float* lse, const float* dloss,
                                          T* dlogits, int64_t classes, float smoothing, int32_t ignore, bool in_place) {
  const int64_t row = blockIdx.x;
  const int32_t target = targets[row];
  const bool counts = target != ignore;
  const float scale = dloss[row], log_sum = lse[row], spread = smoothing / static_cast<float>(classes);
  if (!counts && !in_place) return;
  for (int64_t v = kCount * threadIdx.x; v < classes; v += kCount * blockDim.x) {
    const int64_t at = row * classes + v;
    const Pack<T, kCount> from = load_pack<kCount>(logits + at);
    Pack<T, kCount> to = {};
    if (!in_place) to = load_pack<kCount>(dlogits + at);
#pragma unroll
    for (int k = 0; k < kCount; ++k) {
      const float q = spread + (v + k == target ? 1.0f - smoothing : 0.0f);
      const float d = counts ? scale * (expf(load(from.x + k) - log_sum) - q) : 0.0f;
      store(to.x + k, in_place ? d : load(to.x + k) + d);
    }
    store_pack(dlogits + at, to);
  }
}

}  // namespace

void cross_entropy(Stream& stream, const CrossEntropyArgs& args) {
  const int64_t rows = args.targets.size(), classes = args.logits.dim(-1);
  with_type_of(args.logits, [&]<class T>(T) {
    with_team(classes, [&](auto team) {
      constexpr int kTeam = decltype(team)::value;
      with_pack(classes, {args.logits.raw()}, [&](auto pack) {
        launch(stream, cross_entropy_kernel<kTeam, decltype(pack)::value, T>, rows_grid<kTeam>(rows),
               args.logits.data<T>(), args.targets.data<int32_t>(), args.loss.data<float>(), args.lse.data<float>(),
               rows, classes, args.smoothing, args.ignore);
      });
    });
  });
}

void cross_entropy_grad(Stream& stream, const CrossEntropyGradArgs& args) {
  if (!args.dlogits) return;
  const int64_t rows = args.targets.size(), classes = args.logits.dim(-1);
  const bool in_place = args.dlogits.raw() == args.logits.raw();
  with_type_of(args.logits, [&]<class T>(T) {
    with_pack(classes, {args.logits.raw(), args.dlogits.raw()}, [&](auto pack) {
      launch(stream, cross_entropy_grad_kernel<decltype(pack)::value, T>, Grid{dim3(to_unsigned(rows)), dim3(kBlock)},
             args.logits.data<T>(), args.targets.data<int32_t>(), args.lse.data<float>(), args.dloss.data<float>(),
             args.dlogits.data<T>(), classes, args.smoothing, args.ignore, in_place);
    });
  });
}

}  // namespace fovea::cuda
