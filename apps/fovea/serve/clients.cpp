#include "fovea/serve/clients.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "fovea/serve/call.h"

namespace fovea::app {

namespace {

constexpr size_t kMaxKnown = 10'000;  // clients; beyond that, those without work and with a full allowance go

}  // namespace

void Clients::count_request(const std::string& client, Clock::time_point now) {
  if (limits_.requests_per_minute == 0) return;
  const auto most = static_cast<double>(limits_.requests_per_minute);
  const std::lock_guard lock(mutex_);
  if (clients_.size() >= kMaxKnown) forget_idle(now);
  const auto [place, is_new] = clients_.try_emplace(client);
  Client& c = place->second;
  if (is_new || c.seen == Clock::time_point()) {
    c.allowance = most;
  } else {
    c.allowance = std::min(most, c.allowance + std::chrono::duration<double>(now - c.seen).count() * most / 60);
  }
  c.seen = now;
  if (c.allowance < 1) {
    ApiError error = too_many(fmt::format("Expected at most {} requests a minute.", limits_.requests_per_minute));
    error.retry_after = static_cast<int64_t>(std::ceil((1 - c.allowance) * 60 / most));
    throw error;
  }
  c.allowance -= 1;
}

std::shared_ptr<void> Clients::reserve(const std::string& client, int64_t cost) {
  if (cost > limits_.max_cost) {
    throw too_large(
        fmt::format("This request may take {} target tokens (texts × length × beam); expected at most {}. "
                    "Send fewer or shorter texts, or a smaller beam or max_length.",
                    cost, limits_.max_cost));
  }
  const std::lock_guard lock(mutex_);
  int64_t& used = clients_[client].cost;
  if (used + cost > limits_.max_client_cost) {
    throw too_many(
        fmt::format("Your requests under way may take {} target tokens, and this one {}; expected at most {} "
                    "together. Wait for an answer first.",
                    used, cost, limits_.max_client_cost));
  }
  used += cost;
  return {nullptr, [self = shared_from_this(), client, cost](void*) {
            const std::lock_guard inner(self->mutex_);
            const auto place = self->clients_.find(client);
            place->second.cost -= cost;
            if (place->second.cost == 0 && self->limits_.requests_per_minute == 0) self->clients_.erase(place);
          }};
}

size_t Clients::known() const {
  const std::lock_guard lock(mutex_);
  return clients_.size();
}

void Clients::forget_idle(Clock::time_point now) {
  std::erase_if(clients_, [&](const auto& entry) {
    return entry.second.cost == 0 && now - entry.second.seen > std::chrono::minutes(1);
  });
}

}  // namespace fovea::app
