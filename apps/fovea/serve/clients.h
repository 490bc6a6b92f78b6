// What each client may ask for: requests a minute, and decoding work at the same time. A client is an API key's name,
// or an address.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

namespace fovea::app {

struct ClientLimits {
  int64_t requests_per_minute = 0;  // 0: any number
  int64_t max_cost = 0;             // target tokens × beam of one request
  int64_t max_client_cost = 0;      // of all of a client's requests that are queued or decoded
};

class Clients : public std::enable_shared_from_this<Clients> {
 public:
  using Clock = std::chrono::steady_clock;

  explicit Clients(const ClientLimits& limits) : limits_(limits) {}

  // Counts a request; ApiError 429 when the client has had its requests for now. A client that was silent for a minute
  // may send a minute's requests at once.
  void count_request(const std::string& client, Clock::time_point now = Clock::now());

  // Takes a request's cost from the client's budget until the result is destroyed. ApiError: 413 when no client may ask
  // for that much, 429 when this one has too much under way.
  std::shared_ptr<void> reserve(const std::string& client, int64_t cost);

  size_t known() const;  // clients that are remembered

 private:
  struct Client {
    double allowance = 0;  // requests that may come now
    Clock::time_point seen;
    int64_t cost = 0;
  };
  void forget_idle(Clock::time_point now);

  ClientLimits limits_;
  mutable std::mutex mutex_;
  std::unordered_map<std::string, Client> clients_;
};

}  // namespace fovea::app
