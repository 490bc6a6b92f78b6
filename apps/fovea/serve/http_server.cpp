#include "fovea/serve/http_server.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <thread>

#include "base/error.h"
#include "base/threads.h"
#include "fovea/serve/session.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

namespace fovea::app {

namespace {

namespace net = boost::asio;
using ErrorCode = boost::system::error_code;

constexpr int kBacklog = 1024;
constexpr int64_t kOtherFiles = 64;  // descriptors for everything that is not a connection
// More threads than cores: a thread that writes a large answer must not hold up the others.
constexpr int kThreads = 6;
constexpr std::string_view kUnix = "unix:";

// Raises the limit on descriptors; Error where the connections would not fit.
void make_room_for(int64_t connections) {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  const auto needed = static_cast<rlim_t>(connections + kOtherFiles);
  if (limit.rlim_cur >= needed) return;
  check(limit.rlim_max >= needed,
        "serve: --max-connections {} needs {} open files, and this system allows {} (ulimit -n)", connections, needed,
        limit.rlim_max);
  limit.rlim_cur = needed;
  setrlimit(RLIMIT_NOFILE, &limit);
}

net::generic::stream_protocol::endpoint tcp_endpoint(const HttpOptions& options, net::io_context& context) {
  ErrorCode error;
  net::ip::tcp::resolver resolver(context);
  const auto found = resolver.resolve(options.host, "", net::ip::tcp::resolver::passive, error);
  check(!error && !found.empty(), "serve: cannot listen on {}: no such address", options.host);
  return net::ip::tcp::endpoint(found.begin()->endpoint().address(), static_cast<uint16_t>(options.port));
}

// Removes the socket file of a server that is no longer running; that of a running one, or any other file, is left.
void remove_dead_socket(const std::string& path) {
  struct stat about {};
  if (::stat(path.c_str(), &about) != 0 || !S_ISSOCK(about.st_mode)) return;
  net::io_context context;
  net::local::stream_protocol::socket probe(context);
  ErrorCode error;
  probe.connect(net::local::stream_protocol::endpoint(path), error);
  if (error == net::error::connection_refused) ::unlink(path.c_str());
}

// Sends a short error and closes the connection.
net::awaitable<void> turn_away(Socket socket) {
  const Answer answer = Api::error_answer("", overloaded("Too many connections are open; try again in a moment."));
  const std::string bytes = fmt::format(
      "HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\nContent-Length: {}\r\nRetry-After: 1\r\n"
      "X-Content-Type-Options: nosniff\r\nConnection: close\r\n\r\n{}",
      answer.body.size(), answer.body);
  ErrorCode ignored;
  co_await net::async_write(socket, net::buffer(bytes), net::redirect_error(net::use_awaitable, ignored));
  socket.shutdown(Socket::shutdown_both, ignored);
}

net::awaitable<void> accept(HttpServer::Shared& shared) {
  net::steady_timer pause(shared.acceptor.get_executor());
  while (!shared.stopping) {
    ErrorCode error;
    Socket socket(net::any_io_executor(net::make_strand(shared.context)));
    co_await shared.acceptor.async_accept(socket, net::redirect_error(net::use_awaitable, error));
    if (shared.stopping) break;
    if (error) {  // descriptors or memory are short: later there may be some
      pause.expires_after(std::chrono::milliseconds(50));
      co_await pause.async_wait(net::redirect_error(net::use_awaitable, error));
      continue;
    }
    const auto executor = socket.get_executor();
    const auto session = std::make_shared<Session>(shared, std::move(socket));
    if (shared.connections.add(*session)) {
      net::co_spawn(executor, Session::run(session), net::detached);
    } else {
      shared.metrics.add_request("other", 503, 0);
      net::co_spawn(executor, turn_away(session->release()), net::detached);
    }
  }
  ErrorCode ignored;
  shared.acceptor.close(ignored);
}

}  // namespace

HttpServer::HttpServer(Api& api, const HttpOptions& options, Metrics& metrics, const Log& log)
    : shared_(std::make_unique<Shared>(api, options, metrics, log)) {}

HttpServer::~HttpServer() = default;

int64_t HttpServer::connections() const { return shared_->connections.count(); }
int64_t HttpServer::active() const { return shared_->connections.active(); }

std::string HttpServer::bind() {
  const HttpOptions& options = shared_->options;
  make_room_for(options.max_connections);
  const bool local = options.host.starts_with(kUnix);
  const std::string path = local ? options.host.substr(kUnix.size()) : "";
  check(!local || (!path.empty() && path.size() < sizeof(sockaddr_un::sun_path)),
        "serve: --host unix:PATH: expected a path of 1 to {} bytes, got {}", sizeof(sockaddr_un::sun_path) - 1,
        path.size());
  if (local) remove_dead_socket(path);
  const auto endpoint = local ? net::generic::stream_protocol::endpoint(net::local::stream_protocol::endpoint(path))
                              : tcp_endpoint(options, shared_->context);
  Acceptor& acceptor = shared_->acceptor;
  ErrorCode error;
  acceptor.open(endpoint.protocol(), error);
  if (!error && !local) acceptor.set_option(net::socket_base::reuse_address(true), error);
  if (!error) acceptor.bind(endpoint, error);
  if (!error) acceptor.listen(kBacklog, error);
  check(!error, "serve: cannot listen on {}{}: {}{}", options.host, local ? "" : fmt::format(" port {}", options.port),
        std::strerror(error.value()), error == net::error::address_in_use && !local ? "; --port chooses another" : "");
  if (local) return "http+unix://" + path;
  const auto bound = acceptor.local_endpoint();
  const auto port = ntohs(reinterpret_cast<const sockaddr_in*>(bound.data())->sin_port);  // at the same place for IPv6
  const bool v6 = options.host.find(':') != std::string::npos;
  return fmt::format("http://{}{}{}:{}", v6 ? "[" : "", options.host, v6 ? "]" : "", port);
}

void HttpServer::run() {
  net::co_spawn(shared_->acceptor.get_executor(), accept(*shared_), net::detached);
  std::vector<std::thread> threads;
  for (int i = 1; i < kThreads; ++i) threads.emplace_back([this] { shared_->context.run(); });
  shared_->context.run();
  for (std::thread& thread : threads) thread.join();
  if (shared_->options.host.starts_with(kUnix)) ::unlink(shared_->options.host.substr(kUnix.size()).c_str());
}

void HttpServer::stop() {
  if (shared_->stopping.exchange(true)) return;
  shared_->stops_at = Clock::now() + std::chrono::milliseconds(static_cast<int64_t>(shared_->options.grace * 1000));
  net::post(shared_->acceptor.get_executor(), [this] {
    ErrorCode ignored;
    shared_->acceptor.cancel(ignored);
    shared_->connections.close_idle();
    shared_->connections.wake_all();
  });
}

}  // namespace fovea::app
