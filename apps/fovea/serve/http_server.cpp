#include "fovea/serve/http_server.h"

#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <list>

#include "base/error.h"
#include "fovea/serve/gzip.h"

namespace fovea::app {

namespace {

constexpr auto kIdle = std::chrono::seconds(60);         // an open connection without a request
constexpr auto kSlice = std::chrono::milliseconds(100);  // how often an idle thread looks up
constexpr size_t kHeaderBytes = 64 << 10;                // of a request, besides its body
constexpr size_t kWorthPacking = 1400;                   // shorter answers fit in a packet

// What the library does not pass on to handlers.
struct Current {
  Connection* connection = nullptr;
  Connection::Clock::time_point begin;
  std::string content_type;
  bool takes_gzip = false;
  Answer answer;  // its numbers, for the log
};
thread_local Current current;

// As many threads as there are connections, up to a limit.
class Threads : public httplib::TaskQueue {
 public:
  Threads(int64_t most, std::atomic<int64_t>& waiting) : most_(most), waiting_(waiting) {}

  void enqueue(std::function<void()> task) override {
    {
      const std::lock_guard lock(mutex_);
      tasks_.push_back(std::move(task));
      if (std::ssize(tasks_) > idle_ && std::ssize(threads_) < most_) threads_.emplace_back([this] { run(); });
      count_waiting();
    }
    changed_.notify_one();
  }
  void shutdown() override {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    changed_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }

 private:
  // Connections that no thread will take until another one ends.
  void count_waiting() {
    const int64_t free = idle_ + most_ - std::ssize(threads_);
    waiting_ = std::max<int64_t>(0, std::ssize(tasks_) - free);
  }
  void run() {
    for (std::unique_lock lock(mutex_);;) {
      ++idle_;
      changed_.wait(lock, [&] { return stopping_ || !tasks_.empty(); });
      --idle_;
      if (tasks_.empty()) return;
      const std::function<void()> task = std::move(tasks_.front());
      tasks_.pop_front();
      count_waiting();
      lock.unlock();
      task();
      lock.lock();
    }
  }

  int64_t most_, idle_ = 0;
  std::atomic<int64_t>& waiting_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::list<std::function<void()>> tasks_;
  std::vector<std::thread> threads_;
  bool stopping_ = false;
};

std::chrono::milliseconds milliseconds(double seconds) {
  return std::chrono::milliseconds(static_cast<int64_t>(seconds * 1000));
}

Call call_of(const httplib::Request& request) {
  Call call{.method = request.method,
            .path = request.path,
            .body = request.body,
            .content_type = current.content_type.substr(0, current.content_type.find(';')),
            .authorization = request.get_header_value("Authorization"),
            .if_none_match = request.get_header_value("If-None-Match"),
            .takes_gzip = current.takes_gzip};
  if (call.content_type == "application/x-www-form-urlencoded") {
    httplib::Params params;
    httplib::detail::parse_query_text(request.body, params);
    for (const auto& [name, value] : params) call.form.emplace(name, value);
  }
  for (const auto& [name, file] : request.files) call.form.emplace(name, file.content);
  Connection* connection = current.connection;
  call.is_there = [connection] { return connection->is_alive(); };
  return call;
}

void send_body(httplib::Response& response, Answer& answer) {
  const bool packed = std::any_of(answer.headers.begin(), answer.headers.end(),
                                  [](const auto& header) { return header.first == "Content-Encoding"; });
  if (!packed && current.takes_gzip && answer.body.size() >= kWorthPacking) {
    answer.body = gzip(answer.body);
    response.set_header("Content-Encoding", "gzip");
    response.set_header("Vary", "Accept-Encoding");
  }
  if (answer.type.empty()) return;
  response.set_content(std::move(answer.body), answer.type.c_str());
}

// Or the name of one.
bool is_address(const std::string& host) {
  addrinfo* found = nullptr;
  if (::getaddrinfo(host.c_str(), nullptr, nullptr, &found) != 0) return false;
  ::freeaddrinfo(found);
  return true;
}

}  // namespace

HttpServer::HttpServer(Api& api, const HttpOptions& options, Metrics& metrics, const Log& log)
    : api_(api), options_(options), metrics_(metrics), log_(log) {
  new_task_queue = [this] { return new Threads(options_.max_connections, waiting_); };
  set_payload_max_length(static_cast<size_t>(options_.max_body));
  set_tcp_nodelay(true);
  set_keep_alive_max_count(1'000'000);
  set_keep_alive_timeout(kIdle.count());
  set_socket_options([](socket_t socket) {
    const int yes = 1;
    setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  });
  const auto handler = [this](const httplib::Request& q, httplib::Response& r) { answer(q, r); };
  Get(".*", handler).Post(".*", handler).Put(".*", handler).Patch(".*", handler).Delete(".*", handler);
  Options(".*", handler);
  set_error_handler([this](const httplib::Request& q, httplib::Response& r) { finish_error(q, r); });
  set_logger([this](const httplib::Request& q, const httplib::Response& r) { note(q, r); });
}

int HttpServer::bind() {
  const int port = options_.port;
  check(is_address(options_.host), "serve: cannot listen on {} port {}: no such address", options_.host, port);
  errno = 0;
  const int bound = port == 0 ? bind_to_any_port(options_.host) : bind_to_port(options_.host, port) ? port : -1;
  check(bound > 0, "serve: cannot listen on {} port {}: {}{}", options_.host, port, std::strerror(errno),
        errno == EADDRINUSE ? "; --port chooses another" : "");
  // httplib listens with a short queue; many clients may come at once.
  ::listen(svr_sock_, 1024);
  return bound;
}

void HttpServer::run() {
  if (!stopping_) listen_after_bind();
  ended_ = true;
}

void HttpServer::stop() {
  stopping_ = true;
  // The library knows to stop only what runs.
  while (!ended_ && !is_running()) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  if (!ended_) httplib::Server::stop();
}

// Waits for a request. What was accepted before the server stops is answered: a first request is waited for a little.
bool HttpServer::next_request(Connection& connection, bool first) const {
  const auto until = Connection::Clock::now() + kIdle;
  for (bool looked = false; Connection::Clock::now() < until; looked = true) {
    if (connection.wait_readable(kSlice)) return true;
    if (stopping_ && (!first || looked)) return false;
    if (waiting_ > 0 && !first) return false;  // others wait for the thread
  }
  return false;
}

bool HttpServer::process_and_close_socket(socket_t socket) {
  ++connections_;
  Connection connection(socket);
  current.connection = &connection;
  for (bool first = true, closed = false; !closed && next_request(connection, first); first = false) {
    current.begin = Connection::Clock::now();
    current.answer = {};
    current.content_type.clear();
    current.takes_gzip = false;
    connection.begin_request(milliseconds(options_.timeout), static_cast<size_t>(options_.max_body) + kHeaderBytes);
    const bool close = stopping_ || waiting_ > 0;
    const bool ok =
        process_request(connection, close, closed, [&](httplib::Request& request) { prepare(connection, request); });
    if (!ok || close || connection.failed()) break;
  }
  current.connection = nullptr;
  ::shutdown(socket, SHUT_RDWR);
  httplib::detail::close_socket(socket);
  --connections_;
  return true;
}

// The library would unpack bodies without a limit, pack what is packed already and refuse forms over 8 kB: it does not
// get to see what it would need for that.
void HttpServer::prepare(Connection& connection, httplib::Request& request) const {
  current.takes_gzip = request.get_header_value("Accept-Encoding").find("gzip") != std::string::npos;
  request.headers.erase("Accept-Encoding");
  request.headers.erase("Content-Encoding");
  current.content_type = request.get_header_value("Content-Type");
  if (current.content_type.starts_with("application/x-www-form-urlencoded")) request.headers.erase("Content-Type");
  const std::string length = request.get_header_value("Content-Length");
  // Too long a body is read to its end and thrown away, so that the client gets to read why.
  if (length.size() > 18 || std::strtoull(length.c_str(), nullptr, 10) > static_cast<uint64_t>(options_.max_body)) {
    connection.allow_any_size();
  }
}

void HttpServer::answer(const httplib::Request& request, httplib::Response& response) {
  Answer answer = api_.handle(call_of(request));
  response.status = answer.status;
  for (const auto& [name, value] : answer.headers) response.set_header(name, value);
  if (!response.has_header("Cache-Control")) response.set_header("Cache-Control", "no-store");
  if (answer.stream) {
    response.set_chunked_content_provider(answer.type, [stream = answer.stream](size_t, httplib::DataSink& sink) {
      Connection* connection = current.connection;
      stream([&](std::string_view part) { return connection->is_alive() && sink.write(part.data(), part.size()); });
      if (connection->failed()) return false;
      sink.done();
      return true;
    });
  } else {
    send_body(response, answer);
  }
  answer.stream = {};
  answer.body.clear();
  current.answer = std::move(answer);
}

// What the library itself refused, and has no words for.
void HttpServer::finish_error(const httplib::Request& request, httplib::Response& response) {
  if (!response.body.empty()) return;
  const Connection* connection = current.connection;
  if (connection != nullptr && connection->was_slow()) response.status = 408;
  if (connection != nullptr && connection->was_too_large()) response.status = 413;
  const int status = response.status;
  const std::string message = status == 413   ? fmt::format("Expected a body of at most {} bytes.", options_.max_body)
                              : status == 408 ? std::string("The request did not arrive in time.")
                              : status == 400 ? std::string("The request is not HTTP as it should be.")
                              : status == 500 ? std::string("Something went wrong here.")
                                              : fmt::format("The request was refused with status {}.", status);
  const Answer answer = Api::error_answer(request.path, status, code_of(status), message);
  for (const auto& [name, value] : answer.headers) response.set_header(name, value);
  response.set_content(answer.body, answer.type.c_str());
}

void HttpServer::note(const httplib::Request& request, const httplib::Response& response) {
  const double seconds = std::chrono::duration<double>(Connection::Clock::now() - current.begin).count();
  const Connection* connection = current.connection;
  metrics_.add_request(std::string(Api::label_of(request.path)), response.status, seconds);
  log_.request({.client = request.remote_addr,
                .method = request.method,
                .path = request.path,
                .status = response.status,
                .milliseconds = seconds * 1000,
                .bytes_in = connection != nullptr ? connection->bytes_read() : 0,
                .bytes_out = connection != nullptr ? connection->bytes_written() : 0,
                .model = current.answer.model,
                .source_tokens = current.answer.source_tokens,
                .target_tokens = current.answer.target_tokens,
                .batch = current.answer.batch});
}

}  // namespace fovea::app
