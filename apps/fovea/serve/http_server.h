// HTTP: sockets, threads, limits and the log, on cpp-httplib. What is asked for and answered is the API's business.
#pragma once

#include <httplib.h>

#include <atomic>
#include <string>

#include "fovea/serve/api.h"
#include "fovea/serve/connection.h"
#include "fovea/serve/log.h"

namespace fovea::app {

struct HttpOptions {
  std::string host = "127.0.0.1";
  int port = 8080;                 // 0: any that is free
  int64_t max_body = 1'000'000;    // bytes
  int64_t max_connections = 1024;  // at the same time; others wait
  double timeout = 30;             // seconds that a request may take to arrive
};

class HttpServer : private httplib::Server {
 public:
  HttpServer(Api& api, const HttpOptions& options, Metrics& metrics, const Log& log);

  int bind();  // the port; Error when it cannot be had
  void run();  // until stop(); then finishes what it has accepted
  void stop();
  // Clients whose connections are open.
  int64_t connections() const { return connections_; }

 private:
  bool process_and_close_socket(socket_t socket) override;
  bool next_request(Connection& connection, bool first) const;
  void prepare(Connection& connection, httplib::Request& request) const;
  void answer(const httplib::Request& request, httplib::Response& response);
  void finish_error(const httplib::Request& request, httplib::Response& response);
  void note(const httplib::Request& request, const httplib::Response& response);

  Api& api_;
  HttpOptions options_;
  Metrics& metrics_;
  const Log& log_;
  std::atomic<bool> stopping_ = false, ended_ = false;
  std::atomic<int64_t> connections_ = 0, waiting_ = 0;
};

}  // namespace fovea::app
