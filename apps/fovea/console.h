// What people read: lines, and on a terminal one line that is rewritten in place.
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
  // Rewritten by the next; several a second at most are shown, and none where there is no terminal.
  void live(const std::string& text);
  void finish();  // removes the live line

 private:
  std::FILE* stream_;
  bool terminal_, shown_ = false;
  std::chrono::steady_clock::time_point last_;
};

std::string minutes_text(double minutes);  // "45s", "3m20s", "2h05m"

}  // namespace fovea::app
