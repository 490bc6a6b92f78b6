#include "fovea/serve/page.h"

#include <fmt/format.h>

#include <algorithm>

#include "fovea/serve/api.h"
#include "fovea/serve/gzip.h"

namespace fovea::app {

namespace {

constexpr std::string_view kPolicy =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; font-src "
    "'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

const PageFile* find_file(const std::string& path) {
  const std::string_view wanted = path == "/" ? std::string_view("/index.html") : std::string_view(path);
  const std::span<const PageFile> files = page_files();
  const auto found = std::find_if(files.begin(), files.end(), [&](const PageFile& f) { return f.path == wanted; });
  return found == files.end() ? nullptr : &*found;
}

void protect(Answer& answer) {
  answer.headers.emplace_back("Content-Security-Policy", kPolicy);
  answer.headers.emplace_back("Referrer-Policy", "no-referrer");
}

// Where the page was not built.
Answer plain_page() {
  std::string rows;
  for (const Api::Route& route : Api::routes()) {
    rows += fmt::format("<tr><td>{}</td><td><code>{}</code></td><td>{}</td></tr>\n", route.method, route.path,
                        route.summary);
  }
  Answer answer{
      .type = "text/html; charset=utf-8",
      .body = fmt::format("<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>Fovea</title>"
                          "</head><body>\n<h1>Fovea</h1>\n<p>The server runs. This program was built without "
                          "its page: install <code>nodejs</code> and <code>npm</code> and build again to "
                          "have it.</p>\n<table>\n{}</table>\n</body></html>\n",
                          rows)};
  protect(answer);
  return answer;
}

}  // namespace

bool is_page(const std::string& path) { return path == "/" || find_file(path) != nullptr; }

Answer page_answer(const Call& call) {
  const PageFile* file = find_file(call.path);
  if (file == nullptr) return plain_page();
  Answer answer{.type = std::string(file->type)};
  answer.headers = {{"ETag", std::string(file->etag)},
                    {"Cache-Control", file->hashed ? "public, max-age=31536000, immutable" : "no-cache"},
                    {"Vary", "Accept-Encoding"}};
  protect(answer);
  if (call.if_none_match.find(file->etag) != std::string::npos) {
    answer.status = 304;
    answer.type.clear();
  } else if (call.accepts_gzip) {
    answer.headers.emplace_back("Content-Encoding", "gzip");
    answer.body = file->bytes;
  } else {
    answer.body = ungzip(file->bytes);
  }
  return answer;
}

}  // namespace fovea::app
