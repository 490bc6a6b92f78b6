// A request and its answer as the API sees them: no sockets, no HTTP library.
#pragma once

#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "fovea/serve/job.h"

namespace fovea::app {

struct Call {
  std::string method, path, body;
  std::string content_type;                 // in lower case, without parameters; empty if absent
  std::map<std::string, std::string> form;  // the fields of a URL-encoded or multipart body
  std::string file_name;                    // of the form's field "file" or "image"
  std::string host, origin;                 // as the headers say
  std::string authorization, if_none_match;
  std::string address;  // of the client; the address that a trusted proxy names
  std::string client;   // the API key's name or the address: set by the API
  bool accepts_gzip = false;
  bool secure = false;           // a trusted proxy says that the client speaks TLS to it
  std::function<void()> notify;  // told when a job of this call has changed; may be called on any thread
};

struct Answer {
  int status = 200;
  std::string type = "application/json";
  std::string body;
  std::vector<std::pair<std::string, std::string>> headers;
  // For the log.
  std::string model;
  int64_t source_tokens = 0, target_tokens = 0, batch = 0;
};

// A job that has been submitted, and how its result is written.
struct Work {
  std::shared_ptr<Job> job;
  std::function<Answer()> finish;  // called once the job is done
  // For server-sent events: `start` and `step` write events while the job runs, `finish` writes the last.
  bool streams = false;
  std::function<std::string()> start;
  std::function<std::string(const SearchStep&)> step;
};

// An answer that is ready, or work that leads to one.
using Reply = std::variant<Answer, Work>;

// An error that the client gets to read.
struct ApiError : std::runtime_error {
  ApiError(int with_status, std::string_view with_code, const std::string& message)
      : std::runtime_error(message), status(with_status), code(with_code) {}
  int status;
  std::string code;
  std::string allow;        // the methods that a path takes, where it was asked with another
  int64_t retry_after = 1;  // seconds, for 429 and 503
};

inline ApiError bad_request(const std::string& message) { return {400, "bad_request", message}; }
inline ApiError forbidden(const std::string& message) { return {403, "forbidden", message}; }
inline ApiError too_large(const std::string& message) { return {413, "too_large", message}; }
inline ApiError too_many(const std::string& message) { return {429, "too_many_requests", message}; }
inline ApiError overloaded(const std::string& message) { return {503, "overloaded", message}; }
inline ApiError timed_out(const std::string& message) { return {408, "timeout", message}; }

std::string_view code_of(int status);
// An exception of any kind as what the client is told.
ApiError api_error(const std::exception_ptr& error);

}  // namespace fovea::app
