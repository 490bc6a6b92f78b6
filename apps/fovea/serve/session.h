// One connection: reads requests one after another, hands each to the API and writes the answer. All of it runs on the
// connection's strand; a deadline stands over every read and write.
#pragma once

#include <utility>  // Asio 1.18 uses std::exchange without including it

#include <atomic>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/basic_socket_acceptor.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <list>
#include <mutex>
#include <unordered_map>
#include <unordered_set>

#include "fovea/serve/http_server.h"

namespace fovea::app {

class Session;
using Socket = boost::asio::generic::stream_protocol::socket;
using Acceptor = boost::asio::basic_socket_acceptor<boost::asio::generic::stream_protocol>;

// Which connections there are. Where a new one is over a limit, the one that has been idle longest makes room for it.
class Connections {
 public:
  Connections(int64_t most, int64_t most_per_address) : most_(most), most_per_address_(most_per_address) {}

  bool add(Session& session);  // false where all are busy
  void remove(Session& session);
  void begin_idle(Session& session);
  void end_idle(Session& session);
  void close_idle();
  void wake_all();
  int64_t count() const;
  int64_t active() const;

 private:
  bool evict(const std::string* address);

  int64_t most_, most_per_address_;
  mutable std::mutex mutex_;
  std::unordered_set<Session*> all_;
  std::list<Session*> idle_;  // the longest idle first
  std::unordered_map<std::string, int64_t> per_address_;
  int64_t second_ = 0, now_active_ = 0, before_active_ = 0;  // connections with a request in this second and the last
};

struct HttpServer::Shared {
  Shared(Api& with_api, const HttpOptions& with_options, Metrics& with_metrics, const Log& with_log)
      : api(with_api),
        options(with_options),
        metrics(with_metrics),
        log(with_log),
        acceptor(boost::asio::any_io_executor(boost::asio::make_strand(context))),
        connections(with_options.max_connections, with_options.max_per_address) {}

  Api& api;
  HttpOptions options;
  Metrics& metrics;
  const Log& log;
  boost::asio::io_context context;
  Acceptor acceptor;
  Connections connections;
  std::atomic<bool> stopping = false;
  std::atomic<Clock::time_point> stops_at = Clock::time_point::max();  // requests under way are given up then
  std::atomic<uint64_t> requests = 0;
  std::atomic<size_t> unread = 0;  // bytes of large bodies whose requests are not answered yet
  std::atomic<size_t> unsent = 0;  // bytes of large answers that clients have not taken yet
};

class Session : public std::enable_shared_from_this<Session> {
 public:
  using Shared = HttpServer::Shared;
  template <class T> using Awaitable = boost::asio::awaitable<T>;

  Session(Shared& shared, Socket socket);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  static Awaitable<void> run(std::shared_ptr<Session> self);  // until the connection ends
  Socket release() { return std::move(socket_); }
  const std::string& address() const { return address_; }
  auto executor() { return socket_.get_executor(); }

  // On the strand.
  void end_waiting();  // an idle connection closes
  void wake() { wake_.cancel(); }
  void hurry();  // the server stops: deadlines end with its grace

 private:
  friend class Connections;

  Awaitable<bool> next_request(bool first);
  Awaitable<void> serve_request();
  Awaitable<bool> read_request(Call& call);
  Awaitable<void> refuse(const ApiError& error);
  Awaitable<std::optional<Answer>> await_job(Work work);
  Awaitable<void> stream(Work work, bool gzipped);
  Awaitable<bool> write(Answer answer, bool accepts_gzip);
  Awaitable<bool> write_whole(Answer answer);
  Awaitable<bool> write_bytes(const std::string& bytes);
  Awaitable<void> linger();
  Call read_head();
  void limit_body();
  ApiError error_of(const boost::system::error_code& error) const;
  template <class Response> void add_headers(Response& response, const Answer& answer) const;
  Clock::time_point end_of(const Job& job) const { return std::min(job.deadline, shared_.stops_at.load()); }
  void arm(std::chrono::milliseconds most) { arm_until(Clock::now() + most); }
  void arm_until(Clock::time_point until);
  void disarm();
  void watch_client();
  bool is_reset();
  void note(const Answer& answer);

  Shared& shared_;
  Socket socket_;
  std::string address_;
  boost::asio::steady_timer deadline_, wake_;
  boost::beast::flat_buffer buffer_;
  std::optional<boost::beast::http::request_parser<boost::beast::http::string_body>> parser_;
  Clock::time_point until_ = Clock::time_point::max();  // of the current read or write
  bool expired_ = false;                                // the deadline of a read or write has passed
  bool keep_alive_ = false;                             // the connection may have another request
  bool lingers_ = false;                                // the client may still be sending what is not read
  bool idle_ = false;                                   // it waits for a request
  bool ended_ = false;                                  // an idle connection is to close
  int64_t watch_ = 0;  // counts the jobs waited for: a late event of an earlier one does not count
  bool gone_ = false, half_closed_ = false, watched_ = false;
  // Of the current request.
  Clock::time_point begin_;
  unsigned version_ = 11;
  bool is_head_ = false;
  std::string method_, path_, id_, client_, key_;
  size_t bytes_in_ = 0, bytes_out_ = 0;
  std::shared_ptr<void> held_;  // the memory that a large body has reserved

  // Kept by Connections.
  bool counted_ = false;
  std::optional<std::list<Session*>::iterator> idle_place_;
  int64_t active_second_ = -1;
};

}  // namespace fovea::app
