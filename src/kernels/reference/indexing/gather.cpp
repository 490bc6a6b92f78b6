// Gather and scatter-add along an axis.
#include "kernels/broadcast_index.h"
#include "kernels/reference/common/elements.h"
#include "kernels/reference/functions.h"

namespace fovea::reference {

namespace {

// Calls body(element of the whole, picked element) for each pick.
template <class T, class Body>
void for_each_pick(const GatherShape& s, const Tensor& whole, const Tensor& index, const Tensor& picked, Body body) {
  const auto all = view<T>(whole, s.outer, s.count, s.inner), some = view<T>(picked, s.outer, s.picks, s.inner);
  const auto at = view<int32_t>(index, s.index_outer * s.picks * s.index_inner);
  for (int64_t o = 0; o < s.outer; ++o)
    for (int64_t k = 0; k < s.picks; ++k)
      for (int64_t i = 0; i < s.inner; ++i) body(all(o, at(index_position(s, o, k, i)), i), some(o, k, i));
}

}  // namespace

void gather(Stream&, const GatherArgs& args) {
  with_type_of(args.whole, [&]<class T>(T) {
    for_each_pick<T>(args.shape, args.whole, args.index, args.picked,
                     [&](const T& from, T& to) { to = args.accumulate ? to + from : from; });
  });
}

void scatter_add(Stream&, const ScatterAddArgs& args) {
  with_type_of(args.whole, [&]<class T>(T) {
    for_each_pick<T>(args.shape, args.whole, args.index, args.picked, [](T& to, const T& from) { to += from; });
  });
}

}  // namespace fovea::reference
