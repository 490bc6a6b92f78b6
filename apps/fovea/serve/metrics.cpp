#include "fovea/serve/metrics.h"

#include <fmt/format.h>

#include <algorithm>

namespace fovea::app {

namespace {

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '\\' || c == '"') out += '\\';
    if (c == '\n') {
      out += "\\n";
    } else {
      out += c;
    }
  }
  return out;
}

void head(std::string& out, std::string_view name, std::string_view type, std::string_view help) {
  out += fmt::format("# HELP {} {}\n# TYPE {} {}\n", name, help, name, type);
}

}  // namespace

void Histogram::add(double value) {
  const auto bucket = std::lower_bound(bounds_.begin(), bounds_.end(), value) - bounds_.begin();
  ++counts_[static_cast<size_t>(bucket)];
  ++count_;
  sum_ += value;
}

void Histogram::write(std::string& out, const std::string& name, const std::string& labels) const {
  int64_t below = 0;
  for (size_t i = 0; i < bounds_.size(); ++i) {
    below += counts_[i];
    out += fmt::format("{}_bucket{{{},le=\"{}\"}} {}\n", name, labels, bounds_[i], below);
  }
  out += fmt::format("{}_bucket{{{},le=\"+Inf\"}} {}\n", name, labels, count_);
  out += fmt::format("{}_sum{{{}}} {}\n{}_count{{{}}} {}\n", name, labels, sum_, name, labels, count_);
}

void Metrics::add_request(const std::string& path, int status, double seconds) {
  const std::lock_guard lock(mutex_);
  ++requests_[{path, status}];
  const std::vector<double> bounds = {0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30};
  seconds_.try_emplace(path, bounds).first->second.add(seconds);
}

void Metrics::add_batch(const std::string& model, int64_t sentences, int64_t requests, double seconds) {
  const std::lock_guard lock(mutex_);
  OfModel& of = models_[model];
  of.sentences.add(static_cast<double>(sentences));
  of.requests.add(static_cast<double>(requests));
  of.seconds.add(seconds);
}

void Metrics::add_tokens(const std::string& model, int64_t source, int64_t target) {
  const std::lock_guard lock(mutex_);
  models_[model].source_tokens += source;
  models_[model].target_tokens += target;
}

void Metrics::add_cancelled(const std::string& model) {
  const std::lock_guard lock(mutex_);
  ++models_[model].cancelled;
}

void Metrics::add_gauge(const std::string& name, const std::string& help, const std::string& labels,
                        std::function<int64_t()> value) {
  const std::lock_guard lock(mutex_);
  gauges_.push_back({name, help, labels, std::move(value)});
}

std::string Metrics::text() const {
  std::unique_lock lock(mutex_);
  std::string out;
  head(out, "fovea_requests_total", "counter", "Requests answered.");
  for (const auto& [key, count] : requests_) {
    out += fmt::format("fovea_requests_total{{path=\"{}\",status=\"{}\"}} {}\n", escaped(key.first), key.second, count);
  }
  head(out, "fovea_request_seconds", "histogram", "From the first byte of a request to the last of its answer.");
  for (const auto& [path, histogram] : seconds_) {
    histogram.write(out, "fovea_request_seconds", fmt::format("path=\"{}\"", escaped(path)));
  }
  const auto each = [&](const char* name, const char* help, Histogram OfModel::*member) {
    head(out, name, "histogram", help);
    for (const auto& [model, of] : models_) (of.*member).write(out, name, fmt::format("model=\"{}\"", escaped(model)));
  };
  each("fovea_batch_sentences", "Sentences decoded together.", &OfModel::sentences);
  each("fovea_batch_requests", "Requests decoded together.", &OfModel::requests);
  each("fovea_batch_seconds", "How long a batch took to decode.", &OfModel::seconds);
  const auto count = [&](const char* name, const char* help, int64_t OfModel::*member) {
    head(out, name, "counter", help);
    for (const auto& [model, of] : models_) {
      out += fmt::format("{}{{model=\"{}\"}} {}\n", name, escaped(model), of.*member);
    }
  };
  count("fovea_source_tokens_total", "Tokens read.", &OfModel::source_tokens);
  count("fovea_target_tokens_total", "Tokens written.", &OfModel::target_tokens);
  count("fovea_cancelled_total", "Requests whose client went away or whose time ran out.", &OfModel::cancelled);
  std::string last;
  // A gauge takes locks of its own, under which others count: it must not be asked under ours.
  const std::vector<Gauge> gauges = gauges_;
  lock.unlock();
  for (const Gauge& gauge : gauges) {
    if (gauge.name != last) head(out, gauge.name, "gauge", gauge.help);
    last = gauge.name;
    out += gauge.labels.empty() ? fmt::format("{} {}\n", gauge.name, gauge.value())
                                : fmt::format("{}{{{}}} {}\n", gauge.name, gauge.labels, gauge.value());
  }
  return out;
}

}  // namespace fovea::app
