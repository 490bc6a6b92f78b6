// The parts of bench/cuda. Each one returns its own tables.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "bench/harness.h"
#include "kernels/profile.h"
#include "tensor/cuda.h"

namespace bench {

inline const fovea::Device kCard = fovea::Device::cuda();

// Seconds per call: the median over calls that are synchronised one by one.
double time_on_card(const std::function<void()>& call, int warm = 3, int repeats = 20);

// The Euclidean distance of two vectors as a share of the length of `expected`.
double distance(const std::vector<float>& got, const std::vector<float>& expected);

// The figures that bench/peers measured in the same run, read from its JSON file. A query names words that an entry's
// name contains and one figure; it returns the best value among the matching entries, or 0 if there are none.
class PeerFigures {
 public:
  explicit PeerFigures(const std::string& path);
  double least(const std::vector<std::string>& words, const std::string& figure) const;
  double most(const std::vector<std::string>& words, const std::string& figure) const;

 private:
  std::vector<double> all(const std::vector<std::string>& words, const std::string& figure) const;
  std::map<std::string, std::map<std::string, double>> entries_;
};

// The time of each kernel that takes at least one percent of the total.
Table shares_table(const std::string& title);
void add_shares(const std::string& name, const fovea::KernelProfile& profile, Table& table);

using Tables = std::vector<Table>;
Tables cuda_training(const Options& options, const PeerFigures& peers);
Tables cuda_attention(const Options& options, const PeerFigures& peers);
Tables cuda_generation(const Options& options, const PeerFigures& peers);

}  // namespace bench
