// The connections of a server: how many there may be, of one address and of all, and which of them are idle.
#include <boost/asio/post.hpp>

#include "fovea/serve/session.h"

namespace fovea::app {

namespace net = boost::asio;
using std::chrono::seconds;

bool Connections::add(Session& session) {
  const std::lock_guard lock(mutex_);
  const std::string& address = session.address();
  if (std::ssize(all_) >= most_ && !evict(nullptr)) return false;
  const auto same = per_address_.find(address);
  const bool many = address != "unix" && same != per_address_.end() && same->second >= most_per_address_;
  if (many && !evict(&address)) return false;
  all_.insert(&session);
  ++per_address_[address];
  session.counted_ = true;
  return true;
}

void Connections::remove(Session& session) {
  const std::lock_guard lock(mutex_);
  if (session.idle_place_) idle_.erase(*session.idle_place_);
  session.idle_place_.reset();
  if (!session.counted_) return;
  session.counted_ = false;
  all_.erase(&session);
  const auto same = per_address_.find(session.address());
  if (--same->second == 0) per_address_.erase(same);
}

// Closes the connection that has been idle longest, of one address or of all.
bool Connections::evict(const std::string* address) {
  for (Session* session : idle_) {
    if (!session->counted_ || (address != nullptr && session->address() != *address)) continue;
    const std::shared_ptr<Session> kept = session->weak_from_this().lock();
    if (!kept) continue;
    session->counted_ = false;
    all_.erase(session);
    const auto same = per_address_.find(session->address());
    if (--same->second == 0) per_address_.erase(same);
    net::post(kept->executor(), [kept] { kept->end_waiting(); });
    return true;
  }
  return false;
}

void Connections::begin_idle(Session& session) {
  const std::lock_guard lock(mutex_);
  session.idle_place_ = idle_.insert(idle_.end(), &session);
}

void Connections::end_idle(Session& session) {
  const int64_t second = std::chrono::duration_cast<seconds>(Clock::now().time_since_epoch()).count();
  const std::lock_guard lock(mutex_);
  if (session.idle_place_) idle_.erase(*session.idle_place_);
  session.idle_place_.reset();
  if (session.active_second_ == second) return;
  session.active_second_ = second;
  if (second_ != second) {
    before_active_ = second_ == second - 1 ? now_active_ : 0;
    now_active_ = 0;
    second_ = second;
  }
  ++now_active_;
}

void Connections::close_idle() {
  const std::lock_guard lock(mutex_);
  for (Session* session : idle_) {
    if (const std::shared_ptr<Session> kept = session->weak_from_this().lock()) {
      net::post(kept->executor(), [kept] { kept->end_waiting(); });
    }
  }
}

void Connections::wake_all() {
  const std::lock_guard lock(mutex_);
  for (Session* session : all_) {
    if (const std::shared_ptr<Session> kept = session->weak_from_this().lock()) {
      net::post(kept->executor(), [kept] { kept->hurry(); });
    }
  }
}

int64_t Connections::count() const {
  const std::lock_guard lock(mutex_);
  return std::ssize(all_);
}

int64_t Connections::active() const {
  const std::lock_guard lock(mutex_);
  return std::max(now_active_, before_active_);
}

}  // namespace fovea::app
