// The parts of bench/cuda, each with its own tables.
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

// Seconds a call on the card: the median of calls that are each waited for.
double time_on_card(const std::function<void()>& call, int warm = 3, int repeats = 20);

// How far gradients, or anything else, are from others, as a share of their length.
double distance(const std::vector<float>& got, const std::vector<float>& expected);

// What the other side measured in the same run, from its JSON: the best of those entries whose name contains all the
// words, by one of its figures. 0 where there is none.
class PeerFigures {
 public:
  explicit PeerFigures(const std::string& path);
  double least(const std::vector<std::string>& words, const std::string& figure) const;
  double most(const std::vector<std::string>& words, const std::string& figure) const;

 private:
  std::vector<double> all(const std::vector<std::string>& words, const std::string& figure) const;
  std::map<std::string, std::map<std::string, double>> entries_;
};

// What of the time on the card went to which kernel, those with a percent of it or more.
Table shares_table(const std::string& title);
void add_shares(const std::string& name, const fovea::KernelProfile& profile, Table& table);

using Tables = std::vector<Table>;
Tables cuda_training(const Options& options, const PeerFigures& peers);
Tables cuda_attention(const Options& options, const PeerFigures& peers);
Tables cuda_generation(const Options& options, const PeerFigures& peers);

}  // namespace bench
