// The non-local block against its equations in plain loops: values, and gradients by central differences of the loops.
#include "models/nonlocal.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "attention/registry.h"
#include "base/random.h"
#include "support.h"

namespace fovea {
namespace {

const Device kReference = Device::reference();
constexpr int64_t kBatch = 2, kHeight = 2, kWidth = 4, kChannels = 6, kInner = 3;
constexpr double kTolerance = 1e-12;  // 1/N is a float, exact for 8 positions and for the 2 that subsampling leaves
using Doubles = std::vector<double>;
using Rows = std::vector<Doubles>;

struct Form {
  std::string name;
  bool subsample;
};
void PrintTo(const Form& form, std::ostream* out) { *out << form.name; }

// The equations of Wang et al. 2018 for one picture.
class Loops {
 public:
  Loops(const Parameters& parameters, const Form& form) : parameters_(parameters), form_(form) {}

  Rows weights(const Rows& x) const {  // [T,S]
    const bool embeds = form_.name != "gaussian";
    const Rows theta = embeds ? linear("theta", x) : x, phi = pooled(embeds ? linear("phi", x) : x);
    Rows f(theta.size(), Doubles(phi.size()));
    for (size_t i = 0; i < theta.size(); ++i) {
      for (size_t j = 0; j < phi.size(); ++j) f[i][j] = score(theta[i], phi[j]);
      double total = 0;
      for (const double value : f[i]) total += value;
      const bool gaussian = form_.name == "gaussian" || form_.name == "embedded-gaussian";
      for (double& value : f[i]) value /= gaussian ? total : static_cast<double>(phi.size());
    }
    return f;
  }
  Rows operator()(const Rows& x) const {
    const Rows g = pooled(linear("g", x)), f = weights(x);
    Rows y(x.size(), Doubles(kInner, 0.0));
    for (size_t i = 0; i < x.size(); ++i) {
      for (size_t j = 0; j < g.size(); ++j)
        for (size_t c = 0; c < kInner; ++c) y[i][c] += f[i][j] * g[j][c];
    }
    Rows z = linear("out", y);
    for (size_t i = 0; i < x.size(); ++i)
      for (size_t c = 0; c < kChannels; ++c) z[i][c] += x[i][c];
    return z;
  }

 private:
  double score(const Doubles& a, const Doubles& b) const {
    double sum = 0;
    if (form_.name == "concat") {
      const double *of_theta = parameter("of_theta.weight"), *of_phi = parameter("of_phi.weight");
      for (size_t c = 0; c < a.size(); ++c) sum += of_theta[c] * a[c] + of_phi[c] * b[c];
      return std::max(sum, 0.0);
    }
    for (size_t c = 0; c < a.size(); ++c) sum += a[c] * b[c];
    return form_.name == "dot" ? sum : std::exp(sum);
  }
  const double* parameter(const std::string& name) const {
    return parameters_.find("block." + name).value().data<double>();
  }
  Rows linear(const std::string& name, const Rows& x) const {
    const Parameter& weight = parameters_.find("block." + name + ".weight");
    const auto out = static_cast<size_t>(weight.shape()[0]), in = static_cast<size_t>(weight.shape()[1]);
    const double *w = weight.value().data<double>(), *b = parameter(name + ".bias");
    Rows y;
    for (const Doubles& row : x) {
      Doubles& to = y.emplace_back(b, b + out);
      for (size_t o = 0; o < out; ++o)
        for (size_t i = 0; i < in; ++i) to[o] += w[o * in + i] * row[i];
    }
    return y;
  }
  // The largest of each 2x2 cells.
  Rows pooled(const Rows& x) const {
    if (!form_.subsample) return x;
    Rows y;
    for (int64_t top = 0; top < kHeight; top += 2) {
      for (int64_t left = 0; left < kWidth; left += 2) {
        Doubles& to = y.emplace_back(x[0].size(), -1e30);
        for (int64_t r = top; r < std::min(kHeight, top + 2); ++r)
          for (int64_t c = left; c < std::min(kWidth, left + 2); ++c)
            for (size_t k = 0; k < to.size(); ++k) to[k] = std::max(to[k], x[static_cast<size_t>(r * kWidth + c)][k]);
      }
    }
    return y;
  }

  const Parameters& parameters_;
  Form form_;
};

class NonLocalTest : public ::testing::TestWithParam<Form> {
 protected:
  NonLocalTest() : block(parameters, "block", GetParam().name, kChannels, GetParam().subsample) {
    parameters.allocate(4);
    x = from_host(random(kBatch * kHeight * kWidth * kChannels), {kBatch, kHeight, kWidth, kChannels}, kReference);
  }
  static Doubles random(int64_t count) {
    static Random source(9);
    Doubles values(static_cast<size_t>(count));
    for (double& value : values) value = source.uniform(-1, 1);
    return values;
  }
  void randomise() const {
    for (const Parameter& p : parameters.list())
      copy(from_host(random(p.shape().count()), p.shape(), kReference), p.value());
  }
  Rows picture(int64_t b) const {
    Rows rows;
    for (int64_t i = 0; i < kHeight * kWidth; ++i) {
      const double* row = x.data<double>() + (b * kHeight * kWidth + i) * kChannels;
      rows.emplace_back(row, row + kChannels);
    }
    return rows;
  }
  Doubles loops() const {
    Doubles all;
    for (int64_t b = 0; b < kBatch; ++b) {
      for (const Doubles& row : Loops(parameters, GetParam())(picture(b)))
        all.insert(all.end(), row.begin(), row.end());
    }
    return all;
  }

  Parameters parameters{kReference, DType::kF64};
  NonLocal block;
  Tensor x;
};
INSTANTIATE_TEST_SUITE_P(Forms, NonLocalTest, ::testing::ValuesIn([] {
                           std::vector<Form> forms;
                           for (const std::string& name : names_of(nonlocal_forms()))
                             forms.push_back({name, false}), forms.push_back({name, true});
                           return forms;
                         }()),
                         [](const auto& test) {
                           std::string name = test.param.name + (test.param.subsample ? "_subsampled" : "");
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

TEST_P(NonLocalTest, StartsAsTheIdentity) {
  std::vector<AttentionTrace> traces;
  EXPECT_EQ(to_host<double>(block(x, {}, traces).value()), to_host<double>(x));
  EXPECT_TRUE(traces.empty());
}

TEST_P(NonLocalTest, ComputesItsEquation) {
  randomise();
  const Doubles expected = loops();
  for (const Capture capture : {Capture(), Capture(true), Capture(true, true)}) {
    std::vector<AttentionTrace> traces;
    const Doubles got = to_host<double>(block(x, capture, traces).value());
    for (size_t i = 0; i < got.size(); ++i) ASSERT_NEAR(got[i], expected[i], kTolerance) << i;
    ASSERT_EQ(traces.size(), capture.weights ? 1u : 0u);
    if (!capture.weights) continue;
    EXPECT_EQ(traces[0].kind, AttentionKind::kEncoderSelf);
    EXPECT_EQ(static_cast<bool>(traces[0].scores), capture.scores);
    const Rows weights = Loops(parameters, GetParam()).weights(picture(1));
    const auto keys = static_cast<int64_t>(weights[0].size());
    ASSERT_EQ(traces[0].weights.shape(), (Shape{kBatch, 1, kHeight * kWidth, keys}));
    const double* of_second = traces[0].weights.value().data<double>() + kHeight * kWidth * keys;
    for (size_t i = 0; i < weights.size(); ++i)
      for (size_t j = 0; j < weights[0].size(); ++j)
        ASSERT_NEAR(of_second[static_cast<int64_t>(i) * keys + static_cast<int64_t>(j)], weights[i][j], kTolerance);
  }
}

TEST_P(NonLocalTest, HasTheGradientOfItsEquation) {
  randomise();
  const Doubles share = random(x.size());  // the loss is a weighted sum of the outputs
  const auto loss = [&] {
    const Doubles z = loops();
    double sum = 0;
    for (size_t i = 0; i < z.size(); ++i) sum += share[i] * z[i];
    return sum;
  };
  Gradient of_x(x);
  Tape tape(kReference);
  tape.reset();
  {
    const TapeScope tape_scope(tape);
    std::vector<AttentionTrace> traces;
    tape.backward(sum(block(Var(x, &of_x), {}, traces) * Var(from_host(share, x.shape(), kReference))));
  }
  const auto check_at = [&](double* value, double got, const std::string& name) {
    constexpr double kStep = 1e-5;
    const double kept = *value;
    *value = kept + kStep;
    const double above = loss();
    *value = kept - kStep;
    const double below = loss();
    *value = kept;
    EXPECT_NEAR(got, (above - below) / (2 * kStep), 1e-8) << name;
  };
  for (const Parameter& p : parameters.list()) {
    for (int64_t i = 0; i < p.shape().count(); ++i) {
      check_at(p.value().data<double>() + i, p.grad().data<double>()[i], p.name());
    }
  }
  for (int64_t i = 0; i < x.size(); ++i) check_at(x.data<double>() + i, of_x.sum.data<double>()[i], "x");
}

TEST(NonLocal, RefusesAnUnknownForm) {
  Parameters parameters(kReference);
  EXPECT_ERROR(NonLocal(parameters, "block", "gausian", 4),
               "nonlocal: expected one of embedded-gaussian, gaussian, dot or concat, got gausian");
}

}  // namespace
}  // namespace fovea
