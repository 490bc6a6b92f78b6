// One line for each request, on standard error.
#pragma once

#include <string>

#include "fovea/serve/call.h"

namespace fovea::app {

struct LogEntry {
  std::string id, client, key, method, path;
  int status = 0;
  double milliseconds = 0;
  size_t bytes_in = 0, bytes_out = 0;
  std::string model;
  int64_t source_tokens = 0, target_tokens = 0, batch = 0;
};

class Log {
 public:
  explicit Log(const std::string& format) : json_(format == "json"), off_(format == "off") {}
  void request(const LogEntry& entry) const;
  void event(const std::string& message) const;  // the server's own

 private:
  bool json_, off_;
};

}  // namespace fovea::app
