// HTTP/1.1 on Boost.Beast and Asio: accepts connections, bounds how many there are and how long they may be idle, and
// stops gracefully. A connection waits without a thread; session.cpp has what happens on one.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "fovea/serve/api.h"
#include "fovea/serve/log.h"

namespace fovea::app {

struct HttpOptions {
  std::string host = "127.0.0.1";       // or unix:PATH
  int port = 8080;                      // 0: any that is free
  int64_t max_body = 1'000'000;         // bytes
  int64_t max_image_body = 20'000'000;  // of requests with pictures
  int64_t max_connections = 4096;       // of all clients
  int64_t max_per_address = 1024;       // connections of one client
  double timeout = 30;                  // seconds that a request may take to arrive
  double grace = 10;                    // seconds that requests under way have to finish when the server stops
  bool behind_proxy = false;            // the client's address is what X-Forwarded-For says
};

class HttpServer {
 public:
  HttpServer(Api& api, const HttpOptions& options, Metrics& metrics, const Log& log);
  ~HttpServer();

  std::string bind();  // the URL; Error when the address cannot be had
  void run();          // until stop(); then finishes the requests that it has accepted
  void stop();         // may be called on any thread
  int64_t connections() const;
  // Connections that have sent a request within the last second or two.
  int64_t active() const;

  struct Shared;  // what all sessions share

 private:
  std::unique_ptr<Shared> shared_;
};

}  // namespace fovea::app
