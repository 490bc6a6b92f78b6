#include "fovea/serve/connection.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace fovea::app {

namespace {

constexpr auto kWriteTime = std::chrono::seconds(10);  // a client that takes nothing for so long has gone

void address_text(const sockaddr_storage& address, std::string& ip, int& port) {
  char text[INET6_ADDRSTRLEN] = "";
  if (address.ss_family == AF_INET6) {
    const auto& v6 = reinterpret_cast<const sockaddr_in6&>(address);
    inet_ntop(AF_INET6, &v6.sin6_addr, text, sizeof text);
    port = ntohs(v6.sin6_port);
  } else if (address.ss_family == AF_INET) {
    const auto& v4 = reinterpret_cast<const sockaddr_in&>(address);
    inet_ntop(AF_INET, &v4.sin_addr, text, sizeof text);
    port = ntohs(v4.sin_port);
  }
  ip = text;
}

}  // namespace

bool Connection::wait(short what, Clock::time_point until) const {
  for (;;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until - Clock::now()).count();
    pollfd one{socket_, what, 0};
    const int ready = poll(&one, 1, static_cast<int>(std::clamp<int64_t>(left, 0, 60'000)));
    if (ready > 0) return true;
    if (ready == 0 && left <= 60'000) return false;
    if (ready < 0 && errno != EINTR) return false;
  }
}

bool Connection::wait_readable(std::chrono::milliseconds most) const {
  return has_buffered() || wait(POLLIN, Clock::now() + most);
}

void Connection::begin_request(std::chrono::milliseconds most, size_t most_bytes) {
  until_ = Clock::now() + most;
  most_bytes_ = most_bytes;
  read_ = written_ = 0;
  slow_ = large_ = false;
}

bool Connection::is_alive() const {
  pollfd one{socket_, POLLIN, 0};
  if (poll(&one, 1, 0) <= 0) return true;  // nothing to tell
  if ((one.revents & (POLLERR | POLLNVAL)) != 0) return false;
  char byte = 0;
  const ssize_t got = recv(socket_, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  return got > 0 || (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR));
}

bool Connection::is_readable() const { return has_buffered() || wait(POLLIN, Clock::now()); }

bool Connection::is_writable() const { return !failed_ && wait(POLLOUT, Clock::now() + kWriteTime) && is_alive(); }

ssize_t Connection::read(char* to, size_t size) {
  if (!has_buffered()) {
    at_ = filled_ = 0;
    if (failed_) return -1;
    if (!wait(POLLIN, until_)) {
      slow_ = failed_ = true;
      return -1;
    }
    const ssize_t got = recv(socket_, buffer_, sizeof buffer_, 0);
    if (got <= 0) {
      failed_ = true;
      return got;
    }
    filled_ = static_cast<size_t>(got);
  }
  const size_t count = std::min(size, filled_ - at_);
  if (read_ + count > most_bytes_) {
    large_ = failed_ = true;
    return -1;
  }
  std::memcpy(to, buffer_ + at_, count);
  at_ += count;
  read_ += count;
  return static_cast<ssize_t>(count);
}

ssize_t Connection::write(const char* from, size_t size) {
  size_t sent = 0;
  while (sent < size) {
    if (!wait(POLLOUT, Clock::now() + kWriteTime)) return -1;
    const ssize_t count = send(socket_, from + sent, size - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)) continue;
    if (count <= 0) {
      failed_ = true;
      return -1;
    }
    sent += static_cast<size_t>(count);
  }
  written_ += sent;
  return static_cast<ssize_t>(sent);
}

void Connection::get_remote_ip_and_port(std::string& ip, int& port) const {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  if (getpeername(socket_, reinterpret_cast<sockaddr*>(&address), &size) == 0) address_text(address, ip, port);
}

void Connection::get_local_ip_and_port(std::string& ip, int& port) const {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  if (getsockname(socket_, reinterpret_cast<sockaddr*>(&address), &size) == 0) address_text(address, ip, port);
}

}  // namespace fovea::app
