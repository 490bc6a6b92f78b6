// A request and its answer as the API sees them: no sockets, no HTTP library.
#pragma once

#include <functional>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace fovea::app {

struct Call {
  std::string method, path, body;
  std::string content_type;                 // without parameters
  std::map<std::string, std::string> form;  // where the body is a form
  std::string authorization, if_none_match;
  bool takes_gzip = false;
  std::function<bool()> is_there;  // whether the client still waits
};

// Writes a part of a stream; false when the client has gone.
using Write = std::function<bool(std::string_view)>;

struct Answer {
  int status = 200;
  std::string type = "application/json";
  std::string body;
  std::vector<std::pair<std::string, std::string>> headers;
  std::function<void(const Write&)> stream;  // instead of a body
  // For the log.
  std::string model;
  int64_t source_tokens = 0, target_tokens = 0, batch = 0;
};

// What went wrong, for the client to read.
struct ApiError : std::runtime_error {
  ApiError(int with_status, std::string_view with_code, const std::string& message)
      : std::runtime_error(message), status(with_status), code(with_code) {}
  int status;
  std::string code;
};

inline ApiError bad_request(const std::string& message) { return {400, "bad_request", message}; }
inline ApiError too_large(const std::string& message) { return {413, "too_large", message}; }
inline ApiError overloaded(const std::string& message) { return {503, "overloaded", message}; }
inline ApiError timed_out(const std::string& message) { return {408, "timeout", message}; }
// The client has gone: nobody reads this.
inline ApiError client_gone() { return {499, "client_gone", "The client has gone."}; }

std::string_view code_of(int status);

}  // namespace fovea::app
