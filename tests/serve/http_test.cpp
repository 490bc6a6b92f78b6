// Requests that are not HTTP as it should be: each has the status that it must get, and whatever leaves open where the
// next request begins ends the connection. The same through nginx, where one connection carries many clients' requests.
#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>  // NOLINT(modernize-deprecated-headers): kill
#include <sys/un.h>
#include <sys/wait.h>

#include <atomic>
#include <thread>

#include "gzip.h"
#include "serve/fixture.h"

namespace fovea {
namespace {

class Http : public Serve {};

struct Case {
  std::string name, bytes;
  int status;  // of the first answer
  bool closes;
  int answers = 1;
};

const std::string kHost = "Host: localhost\r\n";
const std::string kBody = R"({"text":"a"})";  // 12 bytes

std::string post(const std::string& headers, const std::string& body = kBody) {
  return "POST /v1/translate HTTP/1.1\r\n" + kHost + headers + "\r\n" + body;
}
std::string get(const std::string& headers, const std::string& path = "/health") {
  return "GET " + path + " HTTP/1.1\r\n" + kHost + headers + "\r\n";
}
std::string chunked(const std::string& chunks, const std::string& headers = "") {
  return post("Transfer-Encoding: chunked\r\n" + headers, chunks);
}

std::vector<Case> cases() {
  const std::string smuggled = "GET /v1/models HTTP/1.1\r\n" + kHost + "\r\n";
  const std::string inside = fmt::format("Content-Length: {}\r\n", smuggled.size());
  const std::string length = "Content-Length: 12\r\n";
  std::string wide = get("");
  wide.insert(wide.size() - 2, "X-Wide: " + std::string(40'000, 'x') + "\r\n");
  std::string many;
  for (int i = 0; i < 5000; ++i) many += fmt::format("X-{}: 1\r\n", i);
  return {
      // As it should be.
      {"plain", get(""), 200, false},
      {"post", post(length), 200, false},
      {"head", "HEAD /health HTTP/1.1\r\n" + kHost + "\r\n", 200, false},
      {"closing", get("Connection: close\r\n"), 200, true},
      {"HTTP/1.0", "GET /health HTTP/1.0\r\n\r\n", 200, true},
      {"HTTP/1.0, kept open", "GET /health HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", 200, false},
      {"two at once", get("") + get(""), 200, false, 2},
      {"three at once", get("") + post(length) + get(""), 200, false, 3},
      {"chunks", chunked("c\r\n" + kBody + "\r\n0\r\n\r\n"), 200, false},
      {"chunks, then another", chunked("c\r\n" + kBody + "\r\n0\r\n\r\n") + get(""), 200, false, 2},
      {"chunks in capitals", chunked("C\r\n" + kBody + "\r\n0\r\n\r\n"), 200, false},
      {"chunk extension", chunked("c;a=b\r\n" + kBody + "\r\n0\r\n\r\n"), 200, false},
      {"a trailer changes nothing", chunked("c\r\n" + kBody + "\r\n0\r\nHost: evil\r\n\r\n"), 200, false},
      {"coding in capitals", post("Transfer-Encoding: CHUNKED\r\n", "c\r\n" + kBody + "\r\n0\r\n\r\n"), 200, false},
      {"absolute target", "GET http://localhost/health HTTP/1.1\r\n" + kHost + "\r\n", 200, false},
      {"query", get("", "/health?a=b"), 200, false},
      {"expectation", post(length + "Expect: 100-continue\r\n"), 100, false, 2},
      {"empty lines of a header", get("X-Empty:\r\n"), 200, false},
      // A body where none is expected is read, never taken for the next request.
      {"GET with a body", get(inside) + smuggled, 200, false},
      {"HEAD with a body", "HEAD /health HTTP/1.1\r\n" + kHost + inside + "\r\n" + smuggled, 200, false},
      {"OPTIONS with a body", "OPTIONS /health HTTP/1.1\r\n" + kHost + inside + "\r\n" + smuggled, 405, false},
      {"DELETE with a body", "DELETE /health HTTP/1.1\r\n" + kHost + inside + "\r\n" + smuggled, 405, false},
      {"GET with chunks", get("Transfer-Encoding: chunked\r\n") + "5\r\nGET /\r\n0\r\n\r\n", 200, false},
      // Ranges do not exist here.
      {"range", get("Range: bytes=0-1\r\n", "/openapi.json"), 200, false},
      {"many ranges", get("Range: bytes=0-,0-,0-,0-,0-,0-\r\n", "/openapi.json"), 200, false},
      {"broken range", get("Range: bytes=9-1\r\n", "/openapi.json"), 200, false},
      {"range of a POST", post(length + "Range: bytes=0-1\r\n"), 200, false},
      // Lengths.
      {"no length", "POST /v1/translate HTTP/1.1\r\n" + kHost + "\r\n" + smuggled, 411, true},
      {"two lengths that differ", post("Content-Length: 12\r\nContent-Length: 0\r\n") + smuggled, 400, true},
      {"two lengths alike", post("Content-Length: 12\r\nContent-Length: 12\r\n") + smuggled, 400, true},
      {"length 12abc", post("Content-Length: 12abc\r\n") + smuggled, 400, true},
      {"length +12", post("Content-Length: +12\r\n") + smuggled, 400, true},
      {"length -1", post("Content-Length: -1\r\n") + smuggled, 400, true},
      {"length 12, 0", post("Content-Length: 12, 0\r\n") + smuggled, 400, true},
      {"length 12, 12", post("Content-Length: 12, 12\r\n") + smuggled, 400, true},
      {"length 0x0c", post("Content-Length: 0x0c\r\n") + smuggled, 400, true},
      {"length 1e1", post("Content-Length: 1e1\r\n") + smuggled, 400, true},
      {"length 12.0", post("Content-Length: 12.0\r\n") + smuggled, 400, true},
      {"empty length", post("Content-Length:\r\n") + smuggled, 400, true},
      {"length past 64 bits", post("Content-Length: 18446744073709551628\r\n") + smuggled, 400, true},
      {"length past the limit", post("Content-Length: 99999999\r\n"), 413, true},
      {"length and chunks", post(length + "Transfer-Encoding: chunked\r\n", "0\r\n\r\n") + smuggled, 400, true},
      {"chunks and length", post("Transfer-Encoding: chunked\r\n" + length, "0\r\n\r\n") + smuggled, 400, true},
      {"a blank before the colon", post("Content-Length : 12\r\n") + smuggled, 400, true},
      // Codings.
      {"coding xchunked", post("Transfer-Encoding: xchunked\r\n", "0\r\n\r\n") + smuggled, 400, true},
      {"coding chunked, identity", post("Transfer-Encoding: chunked, identity\r\n", "0\r\n\r\n") + smuggled, 400, true},
      {"coding gzip, chunked", post("Transfer-Encoding: gzip, chunked\r\n", "0\r\n\r\n") + smuggled, 400, true},
      {"coding twice", chunked("0\r\n\r\n", "Transfer-Encoding: chunked\r\n") + smuggled, 400, true},
      {"coding identity", post("Transfer-Encoding: identity\r\n", "0\r\n\r\n") + smuggled, 400, true},
      {"empty coding", post("Transfer-Encoding:\r\n", "0\r\n\r\n") + smuggled, 400, true},
      {"chunks in HTTP/1.0", "POST /v1/translate HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + smuggled,
       400, true},
      {"chunk size no number", chunked("xyz\r\n" + kBody + "\r\n0\r\n\r\n") + smuggled, 400, true},
      {"chunk size 0xc", chunked("0xc\r\n" + kBody + "\r\n0\r\n\r\n") + smuggled, 400, true},
      {"chunk size -1", chunked("-1\r\n" + kBody + "\r\n0\r\n\r\n") + smuggled, 400, true},
      {"chunk size past 64 bits", chunked("fffffffffffffffff\r\n" + kBody + "\r\n0\r\n\r\n") + smuggled, 400, true},
      {"chunk longer than its size", chunked("3\r\n" + kBody + "\r\n0\r\n\r\n") + smuggled, 400, true},
      {"chunk without its end", chunked("c\r\n" + kBody + "0\r\n\r\n") + smuggled, 400, true},
      {"chunk with bare line feeds", chunked("c\n" + kBody + "\n0\n\n") + smuggled, 400, true},
      {"chunks past the limit", chunked("fffffff\r\n" + std::string(100, 'a')), 413, true},
      // Hosts.
      {"no Host", "GET /health HTTP/1.1\r\n\r\n" + smuggled, 400, true},
      {"two Hosts", get("Host: localhost\r\n") + smuggled, 400, true},
      {"two Hosts in HTTP/1.0", "GET /health HTTP/1.0\r\n" + kHost + kHost + "\r\n" + smuggled, 400, true},
      {"a foreign Host", "GET /health HTTP/1.1\r\nHost: evil.example\r\n\r\n", 403, false},
      {"a foreign Host with a port", "GET /health HTTP/1.1\r\nHost: evil.example:80\r\n\r\n", 403, false},
      {"a foreign absolute target", "GET http://evil.example/health HTTP/1.1\r\n" + kHost + "\r\n", 403, false},
      {"a Host that begins right", "GET /health HTTP/1.1\r\nHost: localhost.evil.example\r\n\r\n", 403, false},
      // Request lines.
      {"no HTTP", "hello\r\n\r\n" + smuggled, 400, true},
      {"HTTP/0.9", "GET /health\r\n\r\n" + smuggled, 400, true},
      {"HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400, true},
      {"HTTP/1.2", "GET /health HTTP/1.2\r\n" + kHost + "\r\n" + smuggled, 400, true},
      {"bare line feeds", "GET /health HTTP/1.1\nHost: localhost\n\n" + smuggled, 400, true},
      {"two blanks", "GET  /health HTTP/1.1\r\n" + kHost + "\r\n" + smuggled, 400, true},
      {"a control character in the path", std::string("GET /hea\x01lth HTTP/1.1\r\n") + kHost + "\r\n" + smuggled, 400,
       true},
      {"NUL in a header", get(std::string("X-A: a\0b\r\n", 10)) + smuggled, 400, true},
      {"a header without a colon", get("X-A\r\n") + smuggled, 400, true},
      {"a header without a name", get(": a\r\n") + smuggled, 400, true},
      {"a path without a slash", "GET health HTTP/1.1\r\n" + kHost + "\r\n", 400, true},
      {"a broken escape", get("", "/%zz"), 400, true},
      {"an unknown method", "BREW /health HTTP/1.1\r\n" + kHost + "\r\n", 405, false},
      {"CONNECT", "CONNECT evil.example:443 HTTP/1.1\r\n" + kHost + "\r\n", 400, true},
      {"a long path", get("", "/" + std::string(40'000, 'a')) + smuggled, 431, true},
      {"a long header", wide + smuggled, 431, true},
      {"many headers", get(many) + smuggled, 431, true},
      {"an unknown expectation", post(length + "Expect: the worst\r\n"), 417, true},
      // Types and origins.
      {"text/plain", post(length + "Content-Type: text/plain\r\n"), 415, false},
      {"multipart to JSON", post(length + "Content-Type: multipart/form-data\r\n"), 400, false},
      {"a foreign page", post(length + "Origin: https://evil.example\r\nContent-Type: application/json\r\n"), 403,
       false},
      {"a page from nowhere", post(length + "Origin: null\r\nContent-Type: application/json\r\n"), 403, false},
      {"our own page", post(length + "Origin: http://localhost\r\nContent-Type: application/json\r\n"), 200, false},
      {"a form of a foreign page",
       post(length + "Origin: https://evil.example\r\nContent-Type: application/x-www-form-urlencoded\r\n"), 403,
       false},
      {"our own page with a form's type",
       post(length + "Origin: http://localhost\r\nContent-Type: application/x-www-form-urlencoded\r\n"), 415, false},
  };
}

struct Exchange {
  std::string got;
  bool closed = false;
  int answers() const {
    int count = 0;
    for (size_t at = 0; (at = got.find("HTTP/1.1 ", at)) != std::string::npos; at += 9) {
      count += std::isdigit(static_cast<unsigned char>(got[at + 9])) != 0 ? 1 : 0;
    }
    return count;
  }
};

// Sends bytes, and reads until the connection ends or nothing has come for a while.
Exchange exchange(int socket, const std::string& bytes, int quiet_ms) {
  Exchange result;
  send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
  pollfd one{socket, POLLIN, 0};
  while (poll(&one, 1, result.got.empty() ? 5000 : quiet_ms) > 0) {
    char buffer[4096];
    const ssize_t count = recv(socket, buffer, sizeof buffer, 0);
    if (count <= 0) {
      result.closed = true;
      break;
    }
    result.got.append(buffer, static_cast<size_t>(count));
  }
  close(socket);
  return result;
}

TEST_F(Http, EachMalformedRequestGetsItsStatus) {
  const std::vector<Case> all = cases();
  ASSERT_GE(all.size(), 60u);
  for (const Case& c : all) {
    const Exchange e = exchange(server->connect(), c.bytes, 150);
    EXPECT_TRUE(e.got.starts_with(fmt::format("HTTP/1.1 {} ", c.status)) ||
                e.got.starts_with(fmt::format("HTTP/1.0 {} ", c.status)))
        << c.name << ": " << e.got.substr(0, 300);
    EXPECT_EQ(e.closed, c.closes) << c.name;
    if (e.got.starts_with("HTTP/1.1")) {
      EXPECT_EQ(e.answers(), c.answers) << c.name << ": " << e.got.substr(0, 1500);
    }
    if (c.status != 100) {
      EXPECT_NE(e.got.find("X-Content-Type-Options: nosniff"), std::string::npos) << c.name;
      EXPECT_NE(e.got.find("X-Request-Id: "), std::string::npos) << c.name;
    }
  }
  EXPECT_EQ(server->get("/health").status, 200);
}

// nginx in front of the server, with connections to it that all clients share.
class Nginx {
 public:
  explicit Nginx(int upstream) {
    const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    bind(socket, reinterpret_cast<sockaddr*>(&address), size);
    getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin_port);
    close(socket);
    const std::string conf = folder_.file(
        "nginx.conf", fmt::format("{3}daemon off; worker_processes 1; pid {0}/pid; error_log {0}/error.log;\n"
                                  "events {{ worker_connections 256; }}\n"
                                  "http {{ access_log off; client_body_temp_path {0}/body; proxy_temp_path {0}/proxy;\n"
                                  "  fastcgi_temp_path {0}/f; uwsgi_temp_path {0}/u; scgi_temp_path {0}/s;\n"
                                  "  upstream fovea {{ server 127.0.0.1:{1}; keepalive 1; }}\n"
                                  "  server {{ listen 127.0.0.1:{2};\n"
                                  "    location / {{ proxy_pass http://fovea; proxy_http_version 1.1;\n"
                                  "      proxy_set_header Connection \"\"; proxy_set_header Host localhost;\n"
                                  "      proxy_request_buffering off; }} }} }}\n",
                                  folder_.path(), upstream, port_, geteuid() == 0 ? "user root; " : ""));
    process_ = fork();
    if (process_ == 0) {
      const int null = open("/dev/null", O_WRONLY);
      dup2(null, STDERR_FILENO);
      execl("/usr/sbin/nginx", "nginx", "-p", folder_.path().c_str(), "-c", conf.c_str(), nullptr);
      _exit(127);
    }
    for (int i = 0; i < 100 && !up(); ++i) usleep(50'000);
  }
  ~Nginx() {
    kill(process_, SIGTERM);
    waitpid(process_, nullptr, 0);
  }
  Nginx(const Nginx&) = delete;
  Nginx& operator=(const Nginx&) = delete;

  int connect() const {
    const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(port_));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (::connect(socket, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0) return socket;
    close(socket);
    return -1;
  }
  bool up() const {
    const int socket = connect();
    if (socket >= 0) close(socket);
    return socket >= 0;
  }

 private:
  TemporaryFolder folder_;
  int port_ = 0;
  pid_t process_ = -1;
};

// While malformed requests pass through nginx, another client's requests get their own answers: each has an id, which
// the server repeats.
TEST_F(Http, ThroughNginxNobodyGetsAnothersAnswer) {
  if (access("/usr/sbin/nginx", X_OK) != 0) GTEST_SKIP() << "nginx is not installed";
  const Nginx nginx(server->port());
  ASSERT_TRUE(nginx.up());
  std::atomic<bool> ended = false;
  std::atomic<int> honest = 0;
  std::thread client([&] {
    while (!ended) {
      const std::string id = fmt::format("honest-{}", honest.load());
      const Exchange e = exchange(
          nginx.connect(), post("Content-Length: 12\r\nConnection: close\r\nX-Request-Id: " + id + "\r\n"), 5000);
      EXPECT_TRUE(e.got.starts_with("HTTP/1.1 200")) << e.got;
      EXPECT_NE(e.got.find("X-Request-Id: " + id + "\r\n"), std::string::npos) << e.got;
      EXPECT_NE(e.got.find("\"translations\""), std::string::npos) << e.got;
      ++honest;
    }
  });
  for (const Case& c : cases()) {
    const Exchange e = exchange(nginx.connect(), c.bytes, 50);
    EXPECT_LE(e.answers(), std::max(c.answers, 1) + (c.closes ? 1 : 0)) << c.name << ": " << e.got.substr(0, 1000);
    EXPECT_EQ(e.got.find("HTTP/1.1 5"), e.got.find("HTTP/1.1 50")) << c.name;
  }
  ended = true;
  client.join();
  EXPECT_GT(honest, 20);
}

TEST_F(Http, AHalfClosedClientGetsItsAnswer) {
  const Server slow({"-m", model(), "--max-cost", "100000000", "--timeout", "120"});
  Json request = slow_request();
  request["min_length"] = 600;
  request["max_length"] = 601;
  const std::string body = request.dump();
  const int socket = slow.connect();
  const std::string bytes = post(fmt::format("Content-Length: {}\r\n", body.size()), body);
  send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
  shutdown(socket, SHUT_WR);
  const Exchange e = exchange(socket, "", 60'000);
  EXPECT_NE(e.got.find("HTTP/1.1 200 OK"), std::string::npos) << e.got.substr(0, 200);
  EXPECT_TRUE(e.closed);
  EXPECT_EQ(slow.metric("fovea_cancelled_total{model=\"model\"}"), 0);
}

TEST_F(Http, SilentConnectionsMakeRoomForOthers) {
  const Server small({"-m", model(), "--max-connections", "40", "--max-connections-per-address", "20"});
  std::vector<int> silent;
  for (int i = 0; i < 60; ++i) silent.push_back(small.connect());
  EXPECT_EQ(small.get("/health").status, 200);
  EXPECT_LE(small.metric("fovea_connections"), 20);
  for (const int socket : silent) close(socket);
}

TEST_F(Http, RequestIdsAreRepeatedWhereTheyAreHarmless) {
  EXPECT_EQ(server->get("/health", {{"X-Request-Id", "abc-1.2_3"}}).header("x-request-id"), "abc-1.2_3");
  const std::string made = server->get("/health", {{"X-Request-Id", "a b"}}).header("x-request-id");
  EXPECT_NE(made, "a b");
  EXPECT_NE(made, "");
  EXPECT_NE(server->log().find("\"id\":\"" + made + "\""), std::string::npos);
}

TEST_F(Http, CompressesAnswersAndStreams) {
  const Server::Headers packed = {{"Accept-Encoding", "gzip"}, {"Content-Type", "application/json"}};
  const std::string plain = server->get("/openapi.json").body;
  const Reply whole = server->get("/openapi.json", packed);
  EXPECT_EQ(whole.header("content-encoding"), "gzip");
  EXPECT_LT(whole.body.size(), plain.size() / 2);
  EXPECT_EQ(gunzip(whole.body), plain);
  const Reply stream = server->post("/v1/translate", Json{{"text", "a b c"}, {"stream", true}}.dump(), packed);
  EXPECT_EQ(stream.header("content-encoding"), "gzip");
  const std::string events = gunzip(stream.body);
  EXPECT_TRUE(events.starts_with("event: start\n")) << events;
  EXPECT_NE(events.find("\nevent: done\n"), std::string::npos) << events;
}

TEST_F(Http, ListensOnAUnixSocket) {
  const std::string path = folder->file("socket");
  Server local({"-m", model(), "--host", "unix:" + path});
  const int socket = ::socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  ASSERT_EQ(::connect(socket, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  EXPECT_TRUE(exchange(socket, get(""), 200).got.starts_with("HTTP/1.1 200"));
  // The socket of a running server stays; that of a dead one does not stand in the way.
  expect_failure({"serve", "-m", model(), "--host", "unix:" + path}, 1, "Address already in use");
  local.signal(SIGKILL);
  local.wait();
  EXPECT_EQ(access(path.c_str(), F_OK), 0);
  Server again({"-m", model(), "--host", "unix:" + path});
  again.signal(SIGTERM);
  EXPECT_EQ(again.wait(), 0);
  EXPECT_NE(access(path.c_str(), F_OK), 0);
}

}  // namespace
}  // namespace fovea
