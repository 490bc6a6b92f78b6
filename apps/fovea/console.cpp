#include "fovea/console.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cmath>

namespace fovea::app {

namespace {

constexpr auto kBetween = std::chrono::milliseconds(150);

// The beginning of a UTF-8 text that fits, counting one column for each character.
std::string fitted(const std::string& text, size_t columns) {
  size_t used = 0, at = 0;
  while (at < text.size() && used < columns) {
    ++at;
    while (at < text.size() && (static_cast<unsigned char>(text[at]) & 0xC0u) == 0x80u) ++at;
    ++used;
  }
  return text.substr(0, at);
}

size_t terminal_columns(std::FILE* stream) {
  winsize size{};
  return ioctl(fileno(stream), TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

}  // namespace

Console::Console(std::FILE* stream) : stream_(stream), terminal_(isatty(fileno(stream)) == 1) {}

void Console::line(const std::string& text) {
  finish();
  std::fprintf(stream_, "%s\n", text.c_str());
  std::fflush(stream_);
}

void Console::live(const std::string& text) {
  const auto now = std::chrono::steady_clock::now();
  if (!terminal_ || (shown_ && now - last_ < kBetween)) return;
  std::fprintf(stream_, "\r%s\x1b[K", fitted(text, terminal_columns(stream_) - 1).c_str());
  std::fflush(stream_);
  shown_ = true;
  last_ = now;
}

void Console::finish() {
  if (shown_) std::fputs("\r\x1b[K", stream_);
  shown_ = false;
}

std::string minutes_text(double minutes) {
  const auto seconds = static_cast<int64_t>(std::llround(minutes * 60));
  if (seconds < 60) return fmt::format("{}s", seconds);
  if (seconds < 3600) return fmt::format("{}m{:02}s", seconds / 60, seconds % 60);
  return fmt::format("{}h{:02}m", seconds / 3600, seconds / 60 % 60);
}

}  // namespace fovea::app
