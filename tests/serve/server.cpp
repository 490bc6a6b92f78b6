#include "serve/server.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>  // NOLINT(modernize-deprecated-headers): kill
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <stdexcept>

#include "base/files.h"

namespace fovea {

namespace {

// A reply from the bytes of a whole connection; interim responses are passed over.
Reply reply_of(const std::string& bytes) {
  Reply reply;
  size_t at = 0;
  while (bytes.compare(at, 12, "HTTP/1.1 100") == 0) at = bytes.find("\r\n\r\n", at) + 4;
  const size_t end = bytes.find("\r\n\r\n", at);
  if (end == std::string::npos || bytes.compare(at, 9, "HTTP/1.1 ") != 0) return reply;
  reply.status = std::stoi(bytes.substr(at + 9, 3));
  for (size_t line = bytes.find("\r\n", at) + 2; line < end;) {
    const size_t next = bytes.find("\r\n", line), colon = bytes.find(": ", line);
    std::string name = bytes.substr(line, colon - line);
    std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::tolower(c); });
    reply.headers.emplace_back(name, bytes.substr(colon + 2, next - colon - 2));
    line = next + 2;
  }
  reply.body = bytes.substr(end + 4);
  if (reply.header("transfer-encoding") != "chunked") return reply;
  std::string body;
  for (size_t chunk = 0; chunk < reply.body.size();) {
    const size_t size = std::stoul(reply.body.substr(chunk), nullptr, 16), begin = reply.body.find("\r\n", chunk) + 2;
    if (size == 0) break;
    body += reply.body.substr(begin, size);
    chunk = begin + size + 2;
  }
  reply.body = body;
  return reply;
}

bool has_type(const std::string& type, const Json& value) {
  return type == "object"    ? value.is_object()
         : type == "array"   ? value.is_array()
         : type == "string"  ? value.is_string()
         : type == "boolean" ? value.is_boolean()
         : type == "integer" ? value.is_number_integer()
         : type == "number"  ? value.is_number()
                             : type == "null" && value.is_null();
}

}  // namespace

std::string Reply::header(const std::string& name) const {
  for (const auto& [known, value] : headers) {
    if (known == name) return value;
  }
  return "";
}

Server::Server(const std::vector<std::string>& arguments) {
  const std::string out = folder_.file("out", ""), err = folder_.file("err", "");
  process_ = fork();
  if (process_ < 0) throw std::runtime_error("cannot start a process");
  if (process_ == 0) {
    dup2(open(out.c_str(), O_WRONLY), STDOUT_FILENO);
    dup2(open(err.c_str(), O_WRONLY | O_APPEND), STDERR_FILENO);
    std::vector<std::string> words = {"fovea", "serve", "--port", "0"};
    words.insert(words.end(), arguments.begin(), arguments.end());
    std::vector<char*> pointers;
    for (std::string& word : words) pointers.push_back(word.data());
    pointers.push_back(nullptr);
    execv(FOVEA_BINARY, pointers.data());
    _exit(127);
  }
  bool began = false;
  for (int i = 0; i < 600 && !began; ++i) {
    const std::string said = read_file(out);
    const size_t at = said.rfind(':');
    began = said.ends_with('\n') && at != std::string::npos;
    if (began && said.find("unix:") == std::string::npos) port_ = std::stoi(said.substr(at + 1));
    if (waitpid(process_, nullptr, WNOHANG) != 0) break;
    usleep(50'000);
  }
  if (!began) throw std::runtime_error("the server did not begin: " + log());
}

Server::~Server() {
  if (process_ < 0) return;
  kill(process_, SIGKILL);
  waitpid(process_, nullptr, 0);
}

Reply Server::get(const std::string& path, const Headers& headers) const { return ask("GET", path, headers, ""); }

Reply Server::post(const std::string& path, const std::string& body, const Headers& headers) const {
  Headers all = headers;
  const bool typed = std::any_of(all.begin(), all.end(), [](const auto& h) { return h.first == "Content-Type"; });
  if (!typed) all.emplace_back("Content-Type", "application/json");
  all.emplace_back("Content-Length", std::to_string(body.size()));
  return ask("POST", path, all, body);
}

Reply Server::ask(const std::string& method, const std::string& path, const Headers& headers,
                  const std::string& body) const {
  std::string head = method + " " + path + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n";
  for (const auto& [name, value] : headers) head += name + ": " + value + "\r\n";
  return reply_of(raw(head + "\r\n" + body, 60'000));
}

int Server::connect() const {
  const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port_));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::connect(socket, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
    throw std::runtime_error("cannot connect");
  }
  return socket;
}

std::string Server::raw(const std::string& bytes, int milliseconds) const {
  const int socket = connect();
  for (size_t sent = 0; sent < bytes.size();) {
    const ssize_t count = send(socket, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
    if (count <= 0) break;
    sent += static_cast<size_t>(count);
  }
  std::string got;
  pollfd one{socket, POLLIN, 0};
  while (poll(&one, 1, milliseconds) > 0) {
    char buffer[4096];
    const ssize_t count = recv(socket, buffer, sizeof buffer, 0);
    if (count <= 0) break;
    got.append(buffer, static_cast<size_t>(count));
  }
  close(socket);
  return got;
}

double Server::metric(const std::string& begin) const {
  const std::string text = "\n" + get("/metrics").body;
  const size_t at = text.find("\n" + begin);
  if (at == std::string::npos) return 0;
  const size_t end = text.find('\n', at + 1);
  const std::string line = text.substr(at + 1, end - at - 1);
  return std::stod(line.substr(line.rfind(' ')));
}

void Server::signal(int number) const { kill(process_, number); }

int Server::wait() {
  int status = 0;
  waitpid(process_, &status, 0);
  process_ = -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

std::string Server::log() const { return read_file(folder_.file("err")); }

std::vector<Event> events_of(const std::string& text) {
  std::vector<Event> events;
  for (size_t at = 0; at < text.size();) {
    const size_t end = text.find("\n\n", at);
    const std::string block = text.substr(at, end - at);
    at = end == std::string::npos ? text.size() : end + 2;
    if (!block.starts_with("event: ")) continue;
    const size_t line = block.find("\ndata: ");
    events.push_back({block.substr(7, line - 7), Json::parse(block.substr(line + 7))});
  }
  return events;
}

std::string mismatch(const Json& document, const Json& schema, const Json& value, const std::string& place) {
  if (schema.contains("$ref")) {
    const std::string name = schema["$ref"].get<std::string>().substr(std::string("#/components/schemas/").size());
    return mismatch(document, document.at("components").at("schemas").at(name), value, place);
  }
  if (schema.contains("type")) {
    const Json types = schema["type"].is_array() ? schema["type"] : Json::array({schema["type"]});
    const bool fits = std::any_of(types.begin(), types.end(), [&](const Json& t) { return has_type(t, value); });
    if (!fits) return fmt::format("{}: expected {}, got {}", place, types.dump(), value.dump().substr(0, 80));
  }
  if (schema.contains("enum")) {
    const Json& valid = schema["enum"];
    if (std::find(valid.begin(), valid.end(), value) == valid.end()) return place + ": not one of " + valid.dump();
  }
  if (value.is_object()) {
    for (const Json& name : schema.value("required", Json::array())) {
      if (!value.contains(name.get<std::string>())) return place + ": lacks " + name.dump();
    }
    const Json properties = schema.value("properties", Json::object());
    for (const auto& [name, member] : value.items()) {
      if (properties.contains(name)) {
        const std::string wrong = mismatch(document, properties[name], member, place + "." + name);
        if (!wrong.empty()) return wrong;
      } else if (schema.value("additionalProperties", true) == false) {
        return place + ": has " + name + ", which is not known";
      }
    }
  }
  if (value.is_array()) {
    if (value.size() < schema.value("minItems", size_t{0})) return place + ": has too few";
    for (size_t i = 0; schema.contains("items") && i < value.size(); ++i) {
      const std::string wrong = mismatch(document, schema["items"], value[i], fmt::format("{}[{}]", place, i));
      if (!wrong.empty()) return wrong;
    }
  }
  return "";
}

}  // namespace fovea
