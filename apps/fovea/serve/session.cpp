#include "fovea/serve/session.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/http/chunk_encode.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/write.hpp>
#include <limits>
#include <random>

#include "fovea/serve/framing.h"
#include "fovea/serve/gzip.h"

namespace fovea::app {

namespace {

namespace net = boost::asio;
namespace http = boost::beast::http;
using ErrorCode = boost::system::error_code;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr auto kFirstByte = seconds(5);        // for a new connection to send anything
constexpr auto kIdle = seconds(60);            // for a connection to send another request
constexpr auto kHead = seconds(10);            // for a request's head to arrive
constexpr auto kWrite = seconds(10);           // for an answer to be taken, besides the time for its size
constexpr auto kLinger = seconds(2);           // for a refused client to read why
constexpr auto kUnwatched = milliseconds(50);  // after which it is noticed whether the client is still there
constexpr auto kProbe = milliseconds(100);     // how often a client that closed its side is looked at
constexpr auto kHeartbeat = seconds(1);        // how often a stream without news says so
constexpr int64_t kSlowest = 16 << 10;         // bytes a second that a client must take
constexpr size_t kHeadBytes = 32 << 10, kBuffer = 64 << 10, kFirstRead = 16 << 10;
constexpr size_t kLarge = 1 << 20, kMaxUnsent = 512 << 20;  // answers of that size; bytes of all of them together
constexpr size_t kMaxUnread = 512 << 20;                    // bytes of all large bodies in memory
constexpr size_t kWorthPacking = 1400;                      // shorter answers fit into a packet

constexpr int kGone = 499;  // in the log, as nginx has it: the client left before its answer
constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";

auto into(ErrorCode& error) { return net::redirect_error(net::use_awaitable, error); }

std::string text_of(boost::beast::string_view view) { return {view.data(), view.size()}; }

// A client has at least 2^64 IPv6 addresses: they count as one.
std::string address_text(in6_addr address) {
  const bool whole = IN6_IS_ADDR_LOOPBACK(&address) || IN6_IS_ADDR_V4MAPPED(&address);
  if (!whole) std::fill(address.s6_addr + 8, address.s6_addr + 16, 0);
  char text[INET6_ADDRSTRLEN] = "";
  inet_ntop(AF_INET6, &address, text, sizeof text);
  return std::string(text) + (whole ? "" : "/64");
}

std::string address_of(const Socket& socket) {
  ErrorCode error;
  const auto endpoint = socket.remote_endpoint(error);
  if (error) return "unknown";
  char text[INET6_ADDRSTRLEN] = "";
  const sockaddr* address = endpoint.data();
  if (address->sa_family == AF_INET) {
    inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in*>(address)->sin_addr, text, sizeof text);
    return text;
  }
  if (address->sa_family != AF_INET6) return "unix";
  return address_text(reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr);
}

// The client's own, where it is harmless in a log.
std::string request_id(const std::string& given, std::atomic<uint64_t>& requests) {
  const bool harmless = !given.empty() && given.size() <= 64 && std::all_of(given.begin(), given.end(), [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '-' || c == '_' ||
           c == '.';
  });
  if (harmless) return given;
  static const unsigned start = std::random_device()();
  return fmt::format("{:08x}-{:x}", start, ++requests);
}

// The address that the nearest proxy saw: the last of the last X-Forwarded-For header.
std::string last_forwarded(const RequestHead& head) {
  std::string list;
  const auto [begin, end] = head.equal_range("X-Forwarded-For");
  for (auto field = begin; field != end; ++field) list = text_of(field->value());
  const size_t comma = list.rfind(','), at = list.find_first_not_of(' ', comma == std::string::npos ? 0 : comma + 1);
  if (at == std::string::npos) return "";
  const std::string address = list.substr(at, std::min(list.find_last_not_of(' ') + 1 - at, size_t{64}));
  in6_addr v6{};
  return inet_pton(AF_INET6, address.c_str(), &v6) == 1 ? address_text(v6) : address;
}

}  // namespace

Session::Session(Shared& shared, Socket socket)
    : shared_(shared),
      socket_(std::move(socket)),
      address_(address_of(socket_)),
      deadline_(socket_.get_executor()),
      wake_(socket_.get_executor()),
      buffer_(kBuffer) {
  const int yes = 1;  // fails on a Unix socket, which needs it not
  setsockopt(socket_.native_handle(), IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
}

Session::~Session() { shared_.connections.remove(*this); }

// Cancels what the connection does once the time is over. Disarmed or armed anew, the old time does not count.
void Session::arm_until(Clock::time_point until) {
  expired_ = false;
  until_ = std::min(until, shared_.stops_at.load());
  deadline_.expires_at(until_);
  deadline_.async_wait([weak = weak_from_this()](const ErrorCode& error) {
    const auto self = weak.lock();
    if (error || !self || self->until_ > Clock::now()) return;
    self->expired_ = true;
    ErrorCode ignored;
    self->socket_.cancel(ignored);
  });
}

void Session::disarm() {
  until_ = Clock::time_point::max();
  deadline_.cancel();
}

void Session::hurry() {
  wake();
  if (until_ != Clock::time_point::max() && until_ > shared_.stops_at.load()) arm_until(until_);
}

void Session::end_waiting() {
  ended_ = true;
  if (!idle_) return;  // a request has begun; it is the last
  ErrorCode ignored;
  socket_.cancel(ignored);
}

net::awaitable<void> Session::run(std::shared_ptr<Session> self) {
  try {
    for (bool first = true; co_await self->next_request(first); first = false) {
      co_await self->serve_request();
      if (!self->keep_alive_) break;
    }
    if (self->lingers_) co_await self->linger();
  } catch (const std::exception& error) {
    self->shared_.log.event(fmt::format("connection of {}: {}", self->address_, error.what()));
  }
  self->disarm();
  ErrorCode ignored;
  self->socket_.shutdown(Socket::shutdown_both, ignored);
  self->socket_.close(ignored);
}

// Waits for the first bytes of a request. A connection that is closed for want of room, or because the server stops, is
// still read where bytes have arrived.
net::awaitable<bool> Session::next_request(bool first) {
  if (buffer_.size() > 0) co_return true;
  if (shared_.stopping && !first && socket_.available() == 0) co_return false;
  shared_.connections.begin_idle(*this);
  idle_ = true;
  arm(first ? kFirstByte : shared_.stopping ? kUnwatched : kIdle);
  ErrorCode error;
  const auto space = buffer_.prepare(kFirstRead);
  size_t count = co_await socket_.async_read_some(space, into(error));
  disarm();
  idle_ = false;
  shared_.connections.end_idle(*this);
  if (error == net::error::operation_aborted && ended_) {
    ErrorCode ignored;
    if (socket_.available(ignored) > 0) count = co_await socket_.async_read_some(space, into(error));
  }
  if (count == 0) co_return false;
  buffer_.commit(count);
  co_return true;
}

net::awaitable<void> Session::serve_request() {
  begin_ = Clock::now();
  method_ = path_ = key_ = "";
  client_ = address_;
  id_ = request_id("", shared_.requests);
  version_ = 11;
  is_head_ = keep_alive_ = false;
  bytes_in_ = bytes_out_ = 0;
  held_.reset();
  Call call;
  if (!co_await read_request(call)) co_return;
  Reply reply = shared_.api.handle(call);
  client_ = call.address;
  key_ = call.client == call.address ? "" : call.client;
  if (auto* work = std::get_if<Work>(&reply)) {
    if (work->streams) {
      co_await stream(std::move(*work), call.accepts_gzip);
    } else {
      std::optional<Answer> answer = co_await await_job(std::move(*work));
      if (answer) {
        co_await write(std::move(*answer), call.accepts_gzip);
      } else {
        keep_alive_ = false;
        note({.status = kGone});
      }
    }
  } else {
    co_await write(std::move(std::get<Answer>(reply)), call.accepts_gzip);
  }
}

// The request without its body. ApiError where it cannot be told where the request ends, or what it is.
Call Session::read_head() {
  const auto& head = parser_->get();
  version_ = head.version();
  method_ = text_of(head.method_string());
  is_head_ = head.method() == http::verb::head;
  id_ = request_id(text_of(head["X-Request-Id"]), shared_.requests);
  path_ = text_of(head.target());
  check_framing(head.base());
  Call call{.method = method_};
  call.host = text_of(head[http::field::host]);
  path_ = call.path = path_of(head.base(), call.host);
  const std::string type = text_of(head[http::field::content_type]);
  call.content_type = type.substr(0, type.find_first_of("; "));
  for (char& c : call.content_type) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  call.origin = text_of(head[http::field::origin]);
  call.authorization = text_of(head[http::field::authorization]);
  call.if_none_match = text_of(head[http::field::if_none_match]);
  call.accepts_gzip = head[http::field::accept_encoding].find("gzip") != boost::beast::string_view::npos;
  call.address = address_;
  if (shared_.options.behind_proxy) {
    const std::string forwarded = last_forwarded(head.base());
    if (!forwarded.empty()) call.address = forwarded;
    call.secure = text_of(head["X-Forwarded-Proto"]) == "https";
  }
  call.notify = [weak = weak_from_this()] {
    if (const auto self = weak.lock()) net::post(self->executor(), [self] { self->wake(); });
  };
  return call;
}

// Sets the limit of the path. A body that may be larger than others reserves its share of the memory until the request
// is answered.
void Session::limit_body() {
  const auto most =
      static_cast<uint64_t>(Api::takes_images(path_) ? shared_.options.max_image_body : shared_.options.max_body);
  const auto length = parser_->content_length();
  if (length && *length > most) throw too_large(fmt::format("Expected a body of at most {} bytes.", most));
  parser_->body_limit(most);
  const size_t held = length ? *length : parser_->chunked() ? most : 0;
  if (held < kLarge) return;
  if (shared_.unread.fetch_add(held) + held > kMaxUnread) {
    shared_.unread -= held;
    throw overloaded("Too many large requests are being read.");
  }
  held_ = std::shared_ptr<void>(nullptr, [shared = &shared_, held](void*) { shared->unread -= held; });
}

// False where there is no request to answer: it was refused, or the connection has ended.
net::awaitable<bool> Session::read_request(Call& call) {
  parser_.emplace();
  parser_->header_limit(kHeadBytes);
  parser_->body_limit(std::numeric_limits<uint64_t>::max());  // limit_body knows the path
  ErrorCode error;
  arm(kHead);
  co_await http::async_read_header(socket_, buffer_, *parser_, into(error));
  std::optional<ApiError> refused;
  std::string type;
  bool expects = false;
  if (error) {
    refused = error_of(error);
  } else {
    try {
      call = read_head();
      type = text_of(parser_->get()[http::field::content_type]);
      limit_body();
      expects = parser_->get().count(http::field::expect) > 0;
    } catch (const ApiError& wrong) {
      refused = wrong;
    }
  }
  if (!refused) {
    const std::string interim(kContinue);
    if (expects && version_ == 11) co_await write_bytes(interim);
    arm(milliseconds(static_cast<int64_t>(shared_.options.timeout * 1000)));
    co_await http::async_read(socket_, buffer_, *parser_, into(error));
    if (error) refused = error_of(error);
  }
  disarm();
  if (refused) {
    if (refused->status > 0) co_await refuse(*refused);
    co_return false;
  }
  keep_alive_ = parser_->get().keep_alive() && !shared_.stopping && !ended_;
  call.body = std::move(parser_->get().body());
  bytes_in_ = call.body.size();
  try {
    if (call.content_type == "application/x-www-form-urlencoded" && !call.body.starts_with('{')) {
      call.form = url_encoded_form(call.body);
    } else if (call.content_type == "multipart/form-data") {
      call.form = multipart_form(call.body, type, call.file_name);
    }
  } catch (const ApiError& wrong) {
    refused = wrong;
  }
  if (refused) co_await write(Api::error_answer(path_, *refused), false);
  co_return !refused;
}

// Why a request could not be read. Status 0: nobody is there to be told.
ApiError Session::error_of(const ErrorCode& error) const {
  if (expired_) return timed_out("The request did not arrive in time.");
  if (error == http::error::end_of_stream || error.category() != make_error_code(http::error::bad_value).category()) {
    return {0, "", ""};
  }
  if (error == http::error::body_limit) {
    const bool images = Api::takes_images(path_);
    return too_large(fmt::format("Expected a body of at most {} bytes.",
                                 images ? shared_.options.max_image_body : shared_.options.max_body));
  }
  if (error == http::error::header_limit || error == http::error::buffer_overflow) {
    return {431, code_of(431), fmt::format("Expected a request head of at most {} bytes.", kHeadBytes)};
  }
  if (error == http::error::bad_version) return bad_request("Expected HTTP/1.1 or HTTP/1.0.");
  return bad_request(fmt::format("The request is not valid HTTP: {}.", error.message()));
}

// After this the connection closes: where the next request would begin is not known.
net::awaitable<void> Session::refuse(const ApiError& error) {
  keep_alive_ = false;
  lingers_ = true;
  co_await write(Api::error_answer(path_, error), false);
}

// Nothing where the client has gone.
net::awaitable<std::optional<Answer>> Session::await_job(Work work) {
  gone_ = half_closed_ = watched_ = false;
  Job& job = *work.job;
  ErrorCode ignored;
  while (!job.is_done()) {
    if (gone_ || Clock::now() >= end_of(job)) {
      job.cancel();
      break;
    }
    const auto soon = half_closed_ ? kProbe : !watched_ ? kUnwatched : milliseconds::max();
    const bool waits = soon == milliseconds::max();
    wake_.expires_at(waits ? end_of(job) : std::min(end_of(job), Clock::now() + soon));
    co_await wake_.async_wait(into(ignored));
    if (job.is_done()) break;
    if (!watched_ && Clock::now() - begin_ >= kUnwatched) watch_client();
    if (half_closed_ && is_reset()) gone_ = true;
  }
  ++watch_;
  if (watched_) socket_.cancel(ignored);
  if (gone_) co_return std::nullopt;
  if (shared_.stopping && !job.is_done()) co_return Api::error_answer(path_, overloaded("The server is stopping."));
  co_return work.finish();
}

// Notices a client that leaves. The end of its bytes may also mean that it has only closed its sending side and waits
// for the answer: an interim response, which a closed connection answers with a reset, tells the two apart.
void Session::watch_client() {
  watched_ = true;
  socket_.async_wait(Socket::wait_read, [weak = weak_from_this(), watch = watch_](const ErrorCode& error) {
    const auto self = weak.lock();
    if (error || !self || self->watch_ != watch) return;
    char byte = 0;
    const ssize_t got = recv(self->socket_.native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    if (got > 0) return;  // another request, for later
    if (got < 0) {
      self->gone_ = errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR;
    } else if (self->version_ == 11) {
      self->half_closed_ = true;
      send(self->socket_.native_handle(), kContinue.data(), kContinue.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    }
    self->wake();
  });
}

bool Session::is_reset() {
  pollfd one{socket_.native_handle(), 0, 0};
  return poll(&one, 1, 0) > 0 && (one.revents & (POLLERR | POLLHUP)) != 0;
}

template <class Response> void Session::add_headers(Response& response, const Answer& answer) const {
  for (const auto& [name, value] : answer.headers) response.insert(name, value);
  if (!answer.type.empty()) response.set(http::field::content_type, answer.type);
  response.set("X-Request-Id", id_);
  response.keep_alive(keep_alive_);
}

net::awaitable<bool> Session::write(Answer answer, bool accepts_gzip) {
  answer = shared_.api.complete(std::move(answer));
  const bool packed = std::any_of(answer.headers.begin(), answer.headers.end(),
                                  [](const auto& header) { return header.first == "Content-Encoding"; });
  if (!packed && accepts_gzip && answer.body.size() >= kWorthPacking) {
    answer.body = gzip(answer.body);
    answer.headers.emplace_back("Content-Encoding", "gzip");
    answer.headers.emplace_back("Vary", "Accept-Encoding");
  }
  // Clients that ask for much and read nothing must not fill the memory.
  const size_t held = answer.body.size() >= kLarge ? answer.body.size() : 0;
  if (shared_.unsent.fetch_add(held) + held > kMaxUnsent) {
    shared_.unsent -= held;
    answer = shared_.api.complete(Api::error_answer(path_, overloaded("Too many large answers are being sent.")));
    co_return co_await write_whole(std::move(answer));
  }
  const bool sent = co_await write_whole(std::move(answer));
  shared_.unsent -= held;
  co_return sent;
}

net::awaitable<bool> Session::write_whole(Answer answer) {
  http::response<http::string_body> response(static_cast<http::status>(answer.status), version_);
  add_headers(response, answer);
  const bool empty = answer.status == 204 || answer.status == 304;
  if (!empty) response.content_length(answer.body.size());
  const auto size = static_cast<int64_t>(answer.body.size());
  if (!is_head_ && !empty) response.body() = std::move(answer.body);
  bytes_out_ = response.body().size();
  http::response_serializer<http::string_body> serializer(response);
  ErrorCode error;
  arm(kWrite + seconds(size / kSlowest));
  if (is_head_ || empty) {
    co_await http::async_write_header(socket_, serializer, into(error));
  } else {
    co_await http::async_write(socket_, serializer, into(error));
  }
  disarm();
  if (error) keep_alive_ = false;
  note(answer);
  co_return !error;
}

net::awaitable<bool> Session::write_bytes(const std::string& bytes) {
  ErrorCode error;
  arm(kWrite + seconds(static_cast<int64_t>(bytes.size()) / kSlowest));
  bytes_out_ += co_await net::async_write(socket_, net::buffer(bytes), into(error));
  disarm();
  if (error) keep_alive_ = false;
  co_return !error;
}

// Server-sent events, in chunks; to a client of HTTP/1.0 until the connection closes.
net::awaitable<void> Session::stream(Work work, bool gzipped) {
  Job& job = *work.job;
  const bool chunked = version_ == 11;
  keep_alive_ = keep_alive_ && chunked;
  Answer head = shared_.api.complete({.type = "text/event-stream", .headers = {{"X-Accel-Buffering", "no"}}});
  if (gzipped) head.headers.emplace_back("Content-Encoding", "gzip");
  http::response<http::empty_body> response(http::status::ok, version_);
  add_headers(response, head);
  response.chunked(chunked);
  http::response_serializer<http::empty_body> serializer(response);
  ErrorCode error, ignored;
  arm(kWrite);
  co_await http::async_write_header(socket_, serializer, into(error));
  std::optional<GzipWriter> packer;
  if (gzipped) packer.emplace();
  bool there = !error;
  std::string text = work.start();
  Answer last = head;
  for (bool done = false; there && !is_head_;) {
    const bool ended = done;
    if (ended) {
      last = work.finish();
      text += last.body;
    }
    if (packer) text = packer->add(text, ended);
    if (!text.empty()) {
      if (chunked) text = fmt::format("{:x}\r\n{}\r\n", text.size(), text);
      if (chunked && ended) text += "0\r\n\r\n";
      there = co_await write_bytes(text);
    }
    if (ended || !there) break;
    text.clear();
    done = job.is_done() || Clock::now() >= end_of(job);
    while (const std::optional<SearchStep> step = job.next_step()) text += work.step(*step);
    if (done || !text.empty()) continue;
    wake_.expires_after(kHeartbeat);
    co_await wake_.async_wait(into(error));
    if (!error) text = ":\n\n";  // a comment, which clients ignore: it tells whether they are still there
  }
  job.cancel();
  if (!there) keep_alive_ = false;
  if (!there) last.status = kGone;
  note(last);
}

// A client that is still sending would lose the answer if the connection closed under it.
net::awaitable<void> Session::linger() {
  ErrorCode error;
  socket_.shutdown(Socket::shutdown_send, error);
  arm(kLinger);
  std::string thrown_away(kBuffer, '\0');
  while (!error) co_await socket_.async_read_some(net::buffer(thrown_away), into(error));
  disarm();
}

void Session::note(const Answer& answer) {
  const double passed = std::chrono::duration<double>(Clock::now() - begin_).count();
  shared_.metrics.add_request(std::string(Api::label_of(path_)), answer.status, passed);
  shared_.log.request({.id = id_,
                       .client = client_,
                       .key = key_,
                       .method = method_,
                       .path = path_,
                       .status = answer.status,
                       .milliseconds = passed * 1000,
                       .bytes_in = bytes_in_,
                       .bytes_out = bytes_out_,
                       .model = answer.model,
                       .source_tokens = answer.source_tokens,
                       .target_tokens = answer.target_tokens,
                       .batch = answer.batch});
}

}  // namespace fovea::app
