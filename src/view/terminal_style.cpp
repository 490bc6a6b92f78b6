// Finds out what a terminal can show from what it and the environment say.
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdlib>
#include <initializer_list>

#include "view/terminal.h"

namespace fovea {

namespace {

using Colour = TerminalStyle::Colour;

bool contains_any(std::string_view text, std::initializer_list<std::string_view> words) {
  return std::any_of(words.begin(), words.end(),
                     [text](std::string_view word) { return text.find(word) != std::string_view::npos; });
}

Colour colour_of(const TerminalFacts& facts) {
  if (!facts.no_color.empty() || !facts.is_terminal || facts.term.empty() || facts.term == "dumb") return Colour::kNone;
  if (facts.colorterm == "truecolor" || facts.colorterm == "24bit") return Colour::kTrue;
  if (contains_any(facts.term, {"direct", "truecolor", "kitty", "alacritty", "wezterm", "ghostty", "foot"}))
    return Colour::kTrue;
  if (contains_any(facts.term, {"256color", "xterm", "screen", "tmux", "rxvt", "linux"})) return Colour::k256;
  return Colour::kNone;
}

int width_of(const TerminalFacts& facts) {
  constexpr int kUsual = 80, kMost = 10000;
  int wanted = 0;
  const char* end = facts.columns_wanted.data() + facts.columns_wanted.size();
  const auto [stopped, error] = std::from_chars(facts.columns_wanted.data(), end, wanted);
  const bool given = error == std::errc() && stopped == end && wanted > 0;
  const int width = given ? wanted : facts.columns > 0 ? facts.columns : kUsual;
  return std::clamp(width, TerminalStyle::kMinWidth, kMost);
}

bool unicode_of(const TerminalFacts& facts) {
  std::string locale = !facts.lc_all.empty() ? facts.lc_all : !facts.lc_ctype.empty() ? facts.lc_ctype : facts.lang;
  std::transform(locale.begin(), locale.end(), locale.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return locale.empty() || contains_any(locale, {"utf-8", "utf8"});
}

// "15;0", or "15;default;0": the background is one of the sixteen colours, of which 7 and 9 to 15 are light.
bool dark_of(const TerminalFacts& facts) {
  const std::string ground = facts.colorfgbg.substr(facts.colorfgbg.rfind(';') + 1);
  int colour = 0;
  const auto [stopped, error] = std::from_chars(ground.data(), ground.data() + ground.size(), colour);
  const bool known = error == std::errc() && stopped == ground.data() + ground.size();
  return !known || colour < 7 || colour == 8;
}

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

}  // namespace

TerminalStyle terminal_style(const TerminalFacts& facts) {
  return {.colour = colour_of(facts), .width = width_of(facts), .unicode = unicode_of(facts), .dark = dark_of(facts)};
}

TerminalStyle terminal_style(int descriptor) {
  winsize size{};
  const bool known = ioctl(descriptor, TIOCGWINSZ, &size) == 0;
  return terminal_style({.is_terminal = isatty(descriptor) != 0,
                         .columns = known ? size.ws_col : 0,
                         .no_color = variable("NO_COLOR"),
                         .colorterm = variable("COLORTERM"),
                         .term = variable("TERM"),
                         .columns_wanted = variable("COLUMNS"),
                         .lc_all = variable("LC_ALL"),
                         .lc_ctype = variable("LC_CTYPE"),
                         .lang = variable("LANG"),
                         .colorfgbg = variable("COLORFGBG")});
}

}  // namespace fovea
