// The non-local block (Wang et al. 2018): attention between all positions of a feature map, with a residual connection.
//
//   z_i = W_z y_i + x_i,  y_i = 1/C(x) sum_j f(x_i, x_j) g(x_j)
//
//   embedded-gaussian  f = e^{theta(x_i) . phi(x_j)},               C = sum_j f   (a softmax)
//   gaussian           f = e^{x_i . x_j},                           C = sum_j f
//   dot                f = theta(x_i) . phi(x_j),                   C = N, the number of positions j
//   concat             f = relu(w . [theta(x_i); phi(x_j)]),        C = N
//
// theta, phi and g are linear maps to half of the channels. W_z starts at zero, so the block starts as the identity.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "models/attention_trace.h"
#include "nn/layers.h"

namespace fovea {

struct NonLocalForm {
  std::string_view name, help;
  bool embeds;   // theta and phi are applied
  bool softmax;  // the weights of a position sum to 1
};
std::span<const NonLocalForm> nonlocal_forms();

// Whether the networks subsample in a map of that many pixels along each axis: above 32 x 32 positions.
constexpr bool subsamples(int64_t pixels) { return pixels > 32; }

class NonLocal {
 public:
  // With `subsample`, the maximum of each 2x2 cells of phi and g is attended over, a quarter of the positions.
  NonLocal(Parameters& parameters, const std::string& name, const std::string& form, int64_t channels,
           bool subsample = false);

  // [B,Y,X,C] -> [B,Y,X,C]. With capture.weights, a trace of kind encoder-self and layer 0 is appended to `attentions`:
  // its weights are [B,1,Y*X,N], rows of the map one after the other.
  Var operator()(const Var& x, Capture capture, std::vector<AttentionTrace>& attentions) const;
  // How its attention is described in a record.
  AttentionInfo info() const;

 private:
  Var sequence(const Var& map) const;  // [B,Y,X,C] -> [Y*X,B,C]
  Var keys(const Var& map) const;      // the same of a map that is subsampled first, if the block does so
  Var scores(const Var& x) const;      // log f for the forms with a softmax, else f / N; [B,1,T,S]

  const NonLocalForm* form_;
  bool subsample_;
  std::optional<Linear> theta_, phi_;
  std::optional<Linear> of_theta_, of_phi_;  // concat: the two halves of w
  Linear g_, out_;
};

}  // namespace fovea
