// The counters of the server, in the text format of Prometheus.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace fovea::app {

class Histogram {
 public:
  explicit Histogram(std::vector<double> bounds) : bounds_(std::move(bounds)), counts_(bounds_.size() + 1) {}
  void add(double value);
  // `labels` as in {path="/health"}, without braces.
  void write(std::string& out, const std::string& name, const std::string& labels) const;

 private:
  std::vector<double> bounds_;
  std::vector<int64_t> counts_;  // of each bucket alone; the last is above all bounds
  int64_t count_ = 0;
  double sum_ = 0;
};

class Metrics {
 public:
  void add_request(const std::string& path, int status, double seconds);
  void add_batch(const std::string& model, int64_t sentences, int64_t requests, double seconds);
  void add_tokens(const std::string& model, int64_t source, int64_t target);
  void add_cancelled(const std::string& model);
  // A number that is read when the metrics are.
  void add_gauge(const std::string& name, const std::string& help, const std::string& labels,
                 std::function<int64_t()> value);
  std::string text() const;

 private:
  struct OfModel {
    Histogram sentences{{1, 2, 4, 8, 16, 32, 64, 128, 256}};
    Histogram requests{{1, 2, 4, 8, 16, 32, 64, 128, 256}};
    Histogram seconds{{0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10}};
    int64_t source_tokens = 0, target_tokens = 0, cancelled = 0;
  };
  struct Gauge {
    std::string name, help, labels;
    std::function<int64_t()> value;
  };

  mutable std::mutex mutex_;
  std::map<std::pair<std::string, int>, int64_t> requests_;
  std::map<std::string, Histogram> seconds_;
  std::map<std::string, OfModel> models_;
  std::vector<Gauge> gauges_;
};

}  // namespace fovea::app
