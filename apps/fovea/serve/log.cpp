#include "fovea/serve/log.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <chrono>
#include <cstdio>

#include "fovea/serve/json.h"
#include "view/terminal_text.h"

namespace fovea::app {

namespace {

std::string now_text() {
  const auto now = std::chrono::system_clock::now();
  const auto millis = std::chrono::duration_cast<std::chrono::milliseconds>(now.time_since_epoch()).count() % 1000;
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03}Z", fmt::gmtime(std::chrono::system_clock::to_time_t(now)), millis);
}

// In one piece, so that lines of several threads do not mix.
void put(const std::string& line) { std::fputs((line + "\n").c_str(), stderr); }

}  // namespace

void Log::request(const LogEntry& e) const {
  if (off_) return;
  if (json_) {
    Json json{{"time", now_text()},
              {"id", e.id},
              {"client", e.client},
              {"method", e.method},
              {"path", e.path},
              {"status", e.status},
              {"milliseconds", e.milliseconds},
              {"bytes_in", e.bytes_in},
              {"bytes_out", e.bytes_out}};
    if (!e.key.empty()) json["key"] = e.key;
    if (!e.model.empty()) {
      json["model"] = e.model;
      json["source_tokens"] = e.source_tokens;
      json["target_tokens"] = e.target_tokens;
      json["batch"] = e.batch;
    }
    return put(dump(json));
  }
  std::string line =
      fmt::format("{} {} {} {} status={} ms={:.2f} in={} out={} id={}", now_text(), e.client, harmless(e.method),
                  harmless(e.path), e.status, e.milliseconds, e.bytes_in, e.bytes_out, e.id);
  if (!e.key.empty()) line += fmt::format(" key={}", harmless(e.key));
  if (!e.model.empty()) {
    line += fmt::format(" model={} source_tokens={} target_tokens={} batch={}", harmless(e.model), e.source_tokens,
                        e.target_tokens, e.batch);
  }
  put(line);
}

void Log::event(const std::string& message) const {
  if (off_) return;
  put(json_ ? dump({{"time", now_text()}, {"message", message}}) : fmt::format("{} {}", now_text(), message));
}

}  // namespace fovea::app
