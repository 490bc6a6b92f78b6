// Scaled dot-product attention (Vaswani et al. 2017, equation 1), out = softmax(scale q k^T + mask) v, with dropout on
// the weights. A strip of queries is processed with all keys of its sentence and head, so that only the weights of a
// strip are in memory; backward needs only the log-sum-exp of each row.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/attention/dot_attention.cpp"
#include "kernels/cpu/attention/dot_attention.h"
#include "kernels/cpu/functions.h"

HWY_BEFORE_NAMESPACE();
namespace fovea::cpu::HWY_NAMESPACE {
namespace {

using namespace dot;

template <class T> class Attention {
 public:
  explicit Attention(const DotAttentionArgs& args)
      : args_(args), shape_(shape_of(args)), drawn_(args.dropout, args.random) {}

  void run() const {
    const int64_t pairs = shape_.batch * shape_.heads, strips = divide_up(shape_.queries, kStrip);
    const int64_t widths = (args_.query.dim(2) + args_.values.dim(2)) / shape_.heads;
    const int64_t grain = kItemTerms / (std::min(shape_.queries, kStrip) * shape_.keys * widths + 1) + 1;
    if (shape_.queries < kFew) {
      return parallel_for(pairs, grain, [&](int64_t begin, int64_t end) {
        for (int64_t pair = begin; pair < end; ++pair) attend_few(pair);
      });
    }
    parallel_for(pairs * strips, grain, [&](int64_t begin, int64_t end) {
      for (int64_t item = begin; item < end; ++item) {
        if (item == begin || item % strips == 0) pack_memory(item / strips);
        attend_strip(item / strips, item % strips * kStrip);
      }
    });
  }

 private:
  RowMask mask_of(int64_t row) const { return mask_of_row(args_.mask, shape_, row); }
  Panel turned_keys() const { return panel<struct TurnedKeys>(args_.query.dim(2) / args_.heads, shape_.keys); }
  Panel packed_values() const { return panel<struct PackedValues>(shape_.keys, args_.values.dim(2) / args_.heads); }

  // Returns the keys and values that are visible to the last query; no other query sees more.
  void pack_memory(int64_t pair) const {
    const int64_t seen = mask_of((pair + 1) * shape_.queries - 1).visible;
    const auto keys = head_of<T>(args_.keys, args_.heads, pair).rows(0, seen);
    const Panel packed = panel<struct PackedKeys>(seen, keys.width);
    pack(keys, 1.0f, packed);
    transpose(packed, seen, keys.width, turned_keys());
    pack(head_of<T>(args_.values, args_.heads, pair).rows(0, seen), 1.0f, packed_values());
  }

  void attend_strip(int64_t pair, int64_t first) const {
    const int64_t count = std::min(kStrip, shape_.queries - first), row = pair * shape_.queries + first;
    const int64_t columns = mask_of(row + count - 1).visible;
    const auto query = head_of<T>(args_.query, args_.heads, pair).rows(first, first + count);
    const auto out = head_of<T>(args_.out, args_.heads, pair).rows(first, first + count);
    const Panel q = panel<struct PackedQuery>(kStrip, query.width),
                weights = panel<struct StripWeights>(kStrip, shape_.keys);
    const Panel mixed = panel<struct StripOut>(kStrip, out.width);
    pack(query, args_.scale, q);
    multiply({.a = rows_of(q), .b = turned_keys(), .c = weights, .m = count, .n = columns, .k = query.width});
    for (int64_t t = 0; t < count; ++t) weigh_row(row + t, weights.at(t), columns);
    multiply({.a = rows_of(weights), .b = packed_values(), .c = mixed, .m = count, .n = out.width, .k = columns});
    for (int64_t t = 0; t < count; ++t) store_row(mixed.at(t), out, t);
  }

  // Computes from the keys and values as stored, without packing.
  void attend_few(int64_t pair) const {
    const auto query = head_of<T>(args_.query, args_.heads, pair);
    const auto out = head_of<T>(args_.out, args_.heads, pair);
    const Panel q = panel<struct FewQuery>(1, query.width), weights = panel<struct FewWeights>(1, shape_.keys + 3);
    const Panel mixed = panel<struct FewOut>(1, out.width);
    for (int64_t t = 0; t < shape_.queries; ++t) {
      const int64_t row = pair * shape_.queries + t, columns = mask_of(row).visible;
      pack(query.rows(t, t + 1), args_.scale, q);
      dot_rows(q.data, head_of<T>(args_.keys, args_.heads, pair).rows(0, columns), weights.data);
      weigh_row(row, weights.data, columns);
      mix_rows(weights.data, head_of<T>(args_.values, args_.heads, pair).rows(0, columns), mixed.data);
      store_row(mixed.data, out, t);
    }
  }

  // Converts scores to weights, ready for the multiplication by the values.
  void weigh_row(int64_t row, float* scores, int64_t columns) const {
    args_.lse.data<float>()[row] = softmax_row(scores, columns, mask_of(row));
    if (args_.weights) {
      T* weights = args_.weights.data<T>() + row * shape_.keys;
      each_register(columns, [&](int64_t s, auto lanes) { store(load(scores + s, lanes), weights + s, lanes); });
      fill_row(weights, columns, shape_.keys, 0.0f);
    }
    if (args_.dropout > 0) {
      const float* factors = dropout_row(drawn_, row * shape_.keys, columns);
      each_register(columns, [&](int64_t s, auto lanes) {
        store(load(scores + s, lanes) * load(factors + s, lanes), scores + s, lanes);
      });
    }
  }

  void store_row(const float* from, const Rows<T>& out, int64_t t) const {
    each_register(out.width, [&](int64_t i, auto lanes) { store(load(from + i, lanes), out.at(t) + i, lanes); });
  }

  const DotAttentionArgs& args_;
  ScoreShape shape_;
  DropoutFactors drawn_;
};

void dot_attention(const DotAttentionArgs& args) {
  with_type_of(args.query, [&]<class T>(T) { Attention<T>(args).run(); });
}

}  // namespace
}  // namespace fovea::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace fovea::cpu {
FOVEA_DISPATCH(dot_attention, DotAttentionArgs)
}  // namespace fovea::cpu
#endif
