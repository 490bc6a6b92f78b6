// The real program, serving on a free port, and ways to talk to it.
#pragma once

#include <sys/types.h>

#include <concepts>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "temporary_folder.h"

namespace fovea {

using Json = nlohmann::ordered_json;

struct Reply {
  int status = 0;  // 0: nothing came
  std::string body;
  std::vector<std::pair<std::string, std::string>> headers;

  Json json() const { return Json::parse(body); }
  std::string header(const std::string& name) const;  // lower case
};

class Server {
 public:
  explicit Server(const std::vector<std::string>& arguments);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  int port() const { return port_; }
  using Headers = std::vector<std::pair<std::string, std::string>>;
  Reply get(const std::string& path, const Headers& headers = {}) const;
  Reply post(const std::string& path, const std::string& body, const Headers& headers = {}) const;
  template <std::same_as<Json> Body> Reply post(const std::string& path, const Body& body) const {
    return post(path, body.dump());
  }
  // Bytes as they are, and all that comes back until the server closes, or for so long at most.
  std::string raw(const std::string& bytes, int milliseconds = 5000) const;
  int connect() const;  // a socket
  // A line of /metrics that begins with that: its number; 0 when there is none.
  double metric(const std::string& begin) const;
  void signal(int number) const;
  int wait();  // what it exited with
  std::string log() const;

 private:
  Reply ask(const std::string& method, const std::string& path, const Headers& headers, const std::string& body) const;

  TemporaryFolder folder_;
  pid_t process_ = -1;
  int port_ = 0;
};

// The server-sent events of a body.
struct Event {
  std::string name;
  Json data;
};
std::vector<Event> events_of(const std::string& text);

// What is wrong with the value under a schema of the document, or nothing. Knows as much of JSON Schema as is used.
std::string mismatch(const Json& document, const Json& schema, const Json& value, const std::string& place = "$");

}  // namespace fovea
