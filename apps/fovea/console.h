// Messages to the user: lines and, on a terminal, one progress line that is rewritten in place.
#pragma once

#include <chrono>
#include <cstdio>
#include <string>

namespace fovea::app {

class Console {
 public:
  explicit Console(std::FILE* stream);
  ~Console() { finish(); }
  Console(const Console&) = delete;
  Console& operator=(const Console&) = delete;

  bool is_terminal() const { return terminal_; }
  void line(const std::string& text);
  // Shows a progress line, which the next one replaces: a few times a second at most, and only on a terminal.
  void live(const std::string& text);
  void finish();  // removes the progress line

 private:
  std::FILE* stream_;
  bool terminal_, shown_ = false;
  std::chrono::steady_clock::time_point last_;
};

std::string minutes_text(double minutes);  // "45s", "3m20s", "2h05m"

}  // namespace fovea::app
