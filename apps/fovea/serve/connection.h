// A client's connection: reads and writes with a limit on time and bytes, so that nobody holds a thread for longer
// than a request may take.
#pragma once

#include <httplib.h>

#include <chrono>
#include <string>

namespace fovea::app {

class Connection : public httplib::Stream {
 public:
  using Clock = std::chrono::steady_clock;

  explicit Connection(int socket) : socket_(socket) {}

  // Whether bytes come within that time.
  bool wait_readable(std::chrono::milliseconds most) const;
  // A request begins: it may take so long, and have so many bytes.
  void begin_request(std::chrono::milliseconds most, size_t most_bytes);
  // The request is read: what is left is to answer it, for which each write has that time.
  void allow_any_size() { most_bytes_ = static_cast<size_t>(-1); }
  bool has_buffered() const { return at_ < filled_; }
  bool is_alive() const;  // the client has not closed its end
  bool failed() const { return failed_; }
  bool was_slow() const { return slow_; }
  bool was_too_large() const { return large_; }
  size_t bytes_read() const { return read_; }
  size_t bytes_written() const { return written_; }

  bool is_readable() const override;
  bool is_writable() const override;
  ssize_t read(char* to, size_t size) override;
  ssize_t write(const char* from, size_t size) override;
  void get_remote_ip_and_port(std::string& ip, int& port) const override;
  void get_local_ip_and_port(std::string& ip, int& port) const override;
  socket_t socket() const override { return socket_; }

 private:
  bool wait(short what, Clock::time_point until) const;

  int socket_;
  Clock::time_point until_;
  size_t most_bytes_ = 0, read_ = 0, written_ = 0;
  bool failed_ = false, slow_ = false, large_ = false;
  char buffer_[8192];
  size_t at_ = 0, filled_ = 0;
};

}  // namespace fovea::app
