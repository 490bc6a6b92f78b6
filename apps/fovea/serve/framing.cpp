#include "fovea/serve/framing.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/beast/core/string.hpp>
#include <boost/beast/http/field.hpp>
#include <boost/beast/http/verb.hpp>

namespace fovea::app {

namespace {

namespace http = boost::beast::http;

constexpr size_t kMaxFields = 100;  // of a form

std::string text_of(boost::beast::string_view view) { return {view.data(), view.size()}; }

bool equals(boost::beast::string_view a, const char* b) { return boost::beast::iequals(a, b); }
bool equals(std::string_view a, std::string_view b) {
  return boost::beast::iequals({a.data(), a.size()}, {b.data(), b.size()});
}

std::string decoded(std::string_view text, bool plus_is_blank) {
  const auto digit = [](char c) {
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
  };
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%') {
      const int high = i + 2 < text.size() ? digit(text[i + 1]) : -1, low = high >= 0 ? digit(text[i + 2]) : -1;
      if (low < 0) throw bad_request("Expected two hexadecimal digits after each %.");
      out += static_cast<char>(high * 16 + low);
      i += 2;
    } else {
      out += plus_is_blank && text[i] == '+' ? ' ' : text[i];
    }
  }
  return out;
}

// The value of name="value" or name=value among a header's parameters, which follow semicolons.
std::string parameter(std::string_view header, std::string_view name) {
  size_t at = header.find(';');
  while (at != std::string_view::npos) {
    at = header.find_first_not_of("; \t", at);
    if (at == std::string_view::npos) break;
    const size_t name_end = std::min(header.find_first_of("=;", at), header.size());
    const bool found = equals(header.substr(at, name_end - at), name);
    if (name_end == header.size() || header[name_end] == ';') {
      at = header.find(';', at);
      continue;
    }
    std::string value;
    at = name_end + 1;
    if (at < header.size() && header[at] == '"') {
      for (++at; at < header.size() && header[at] != '"'; ++at) {
        if (header[at] == '\\' && at + 1 < header.size()) ++at;
        value += header[at];
      }
    } else {
      const size_t end = std::min(header.find_first_of("; \t", at), header.size());
      value = header.substr(at, end - at);
    }
    if (found) return value;
    at = header.find(';', std::min(at, header.size()));
  }
  return "";
}

// The value of a header in the head of a part, without its line break.
std::string_view header_of(std::string_view head, std::string_view name) {
  for (size_t at = 0; at < head.size();) {
    const size_t end = std::min(head.find("\r\n", at), head.size());
    const std::string_view line = head.substr(at, end - at);
    const size_t colon = line.find(':');
    if (colon != std::string_view::npos && equals(line.substr(0, colon), name)) {
      return line.substr(colon + 1);
    }
    at = end + 2;
  }
  return {};
}

}  // namespace

void check_framing(const RequestHead& head) {
  const size_t least = head.version() == 11 ? 1 : 0;  // HTTP/1.0 did not know the header
  if (head.count(http::field::host) > 1 || head.count(http::field::host) < least) {
    throw bad_request(fmt::format("Expected one Host header, got {}.", head.count(http::field::host)));
  }
  const size_t lengths = head.count(http::field::content_length), codings = head.count(http::field::transfer_encoding);
  if (lengths > 1) throw bad_request("Expected one Content-Length header.");
  if (lengths + codings > 1) throw bad_request("Expected Content-Length or Transfer-Encoding, and that once.");
  if (lengths == 1) {
    const auto length = head[http::field::content_length];
    const bool digits = std::all_of(length.begin(), length.end(), [](char c) { return c >= '0' && c <= '9'; });
    if (length.empty() || !digits) throw bad_request("Content-Length: expected a number.");
  }
  if (codings == 1) {
    if (head.version() < 11) throw bad_request("Transfer-Encoding: expected HTTP/1.1.");
    if (!equals(head[http::field::transfer_encoding], "chunked")) {
      throw bad_request("Transfer-Encoding: expected chunked and no other coding.");
    }
  }
  const bool takes_body =
      head.method() == http::verb::post || head.method() == http::verb::put || head.method() == http::verb::patch;
  if (takes_body && lengths + codings == 0) throw ApiError(411, code_of(411), "Expected a Content-Length header.");
  if (head.count(http::field::expect) > 0 && !equals(head[http::field::expect], "100-continue")) {
    throw ApiError(417, "bad_request", "Expect: only 100-continue is known.");
  }
}

std::string path_of(const RequestHead& head, std::string& host) {
  std::string target = text_of(head.target());
  if (target.starts_with("http://") || target.starts_with("https://")) {
    const size_t authority = target.find("://") + 3, path = std::min(target.find('/', authority), target.size());
    host = target.substr(authority, path - authority);
    target = path < target.size() ? target.substr(path) : "/";
  }
  if (target == "*" && head.method() == http::verb::options) return target;
  if (!target.starts_with('/')) throw bad_request("Expected a path that begins with /.");
  return decoded(target.substr(0, target.find_first_of("?#")), false);
}

std::map<std::string, std::string> url_encoded_form(const std::string& body) {
  std::map<std::string, std::string> form;
  for (size_t at = 0; at < body.size();) {
    const size_t end = std::min(body.find('&', at), body.size());
    const std::string_view field = std::string_view(body).substr(at, end - at);
    const size_t equals = std::min(field.find('='), field.size());
    if (form.size() == kMaxFields) throw bad_request(fmt::format("Expected at most {} fields.", kMaxFields));
    if (!field.empty()) {
      form.emplace(decoded(field.substr(0, equals), true),
                   equals < field.size() ? decoded(field.substr(equals + 1), true) : std::string());
    }
    at = end + 1;
  }
  return form;
}

std::map<std::string, std::string> multipart_form(const std::string& body, const std::string& content_type,
                                                  std::string& file_name) {
  constexpr size_t kLongestBoundary = 70, kLongestHead = 8 << 10;
  const auto wrong = [](const std::string& what) { return bad_request("multipart/form-data: " + what); };
  const std::string boundary = parameter(content_type, "boundary");
  if (boundary.empty() || boundary.size() > kLongestBoundary) {
    throw wrong(fmt::format("expected a boundary of 1 to {} characters.", kLongestBoundary));
  }
  const std::string mark = "--" + boundary, line_mark = "\r\n" + mark;
  size_t at = 0;  // of a boundary, which begins a line
  if (!body.starts_with(mark)) {
    at = body.find(line_mark);
    if (at == std::string::npos) throw wrong("the body has no boundary.");
    at += 2;
  }
  std::map<std::string, std::string> form;
  for (;;) {
    at += mark.size();
    if (body.compare(at, 2, "--") == 0) return form;
    if (body.compare(at, 2, "\r\n") != 0) throw wrong("expected a line break after each boundary.");
    if (form.size() == kMaxFields) throw wrong(fmt::format("expected at most {} parts.", kMaxFields));
    const size_t head_end = body.find("\r\n\r\n", at);
    if (head_end == std::string::npos || head_end - at > kLongestHead) {
      throw wrong(fmt::format("expected headers of at most {} bytes and an empty line in each part.", kLongestHead));
    }
    const size_t end = body.find(line_mark, head_end + 2);
    if (end == std::string::npos) throw wrong("the closing boundary is missing.");
    const std::string_view disposition =
        header_of(std::string_view(body).substr(at + 2, head_end - at - 2), "Content-Disposition");
    const std::string name = parameter(disposition, "name");
    if (name.empty()) throw wrong("expected a Content-Disposition header with a name in each part.");
    const size_t begin = std::min(head_end + 4, end);
    if (!form.emplace(name, body.substr(begin, end - begin)).second) {
      throw wrong(fmt::format("expected one part named \"{}\", got two.", name.substr(0, kLongestBoundary)));
    }
    if (name == "file" || name == "image") file_name = parameter(disposition, "filename");
    at = end + 2;
  }
}

}  // namespace fovea::app
