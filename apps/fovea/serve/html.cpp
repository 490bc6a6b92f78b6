#include "fovea/serve/html.h"

#include <algorithm>
#include <cctype>
#include <utility>

#include "text/utf8.h"

namespace fovea::app {

namespace {

constexpr std::string_view kNotText[] = {"script", "style", "code", "pre", "textarea", "template", "svg", "math"};

constexpr std::pair<std::string_view, char32_t> kEntities[] = {
    {"amp", '&'},      {"lt", '<'},       {"gt", '>'},       {"quot", '"'},     {"apos", '\''},    {"nbsp", 0xA0},
    {"copy", 0xA9},    {"reg", 0xAE},     {"deg", 0xB0},     {"auml", 0xE4},    {"ouml", 0xF6},    {"uuml", 0xFC},
    {"Auml", 0xC4},    {"Ouml", 0xD6},    {"Uuml", 0xDC},    {"szlig", 0xDF},   {"eacute", 0xE9},  {"egrave", 0xE8},
    {"ecirc", 0xEA},   {"agrave", 0xE0},  {"ccedil", 0xE7},  {"ntilde", 0xF1},  {"ndash", 0x2013}, {"mdash", 0x2014},
    {"lsquo", 0x2018}, {"rsquo", 0x2019}, {"ldquo", 0x201C}, {"rdquo", 0x201D}, {"bull", 0x2022},  {"hellip", 0x2026},
    {"euro", 0x20AC}};

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f'; }

bool starts_with(std::string_view text, size_t at, std::string_view what) {
  if (text.size() - at < what.size()) return false;
  return std::equal(what.begin(), what.end(), text.begin() + static_cast<std::ptrdiff_t>(at),
                    [](char a, char b) { return a == std::tolower(static_cast<unsigned char>(b)); });
}

// The character that an entity's name stands for; 0 where it is not known.
char32_t entity(std::string_view name) {
  if (name.starts_with('#')) {
    const bool hex = name.size() > 1 && (name[1] == 'x' || name[1] == 'X');
    const std::string_view digits = name.substr(hex ? 2 : 1);
    char32_t value = 0;
    for (const char c : digits) {
      if (hex ? std::isxdigit(static_cast<unsigned char>(c)) == 0 : std::isdigit(static_cast<unsigned char>(c)) == 0)
        return 0;
      value = value * (hex ? 16 : 10) + static_cast<char32_t>(c <= '9' ? c - '0' : (c | 32) - 'a' + 10);
      if (value > 0x10FFFF) return 0;
    }
    return value >= 0xD800 && value < 0xE000 ? 0 : value;
  }
  const auto found =
      std::find_if(std::begin(kEntities), std::end(kEntities), [&](const auto& e) { return e.first == name; });
  return found == std::end(kEntities) ? 0 : found->second;
}

// Where an entity that begins with the & at `at` ends, its semicolon counted; 0 where there is none.
size_t entity_end(std::string_view text, size_t at) {
  const size_t end = text.substr(0, at + 12).find(';', at);
  if (end == std::string_view::npos || end == at + 1) return 0;
  const bool name =
      std::all_of(text.begin() + static_cast<std::ptrdiff_t>(at) + 1, text.begin() + static_cast<std::ptrdiff_t>(end),
                  [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '#'; });
  return name ? end + 1 : 0;
}

std::string plain(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size();) {
    const size_t end = text[i] == '&' ? entity_end(text, i) : 0;
    const char32_t c = end > 0 ? entity(text.substr(i + 1, end - i - 2)) : 0;
    if (c != 0) {
      append_code_point(out, c);
      i = end;
    } else {
      if (!is_blank(text[i])) {
        out += text[i];
      } else if (!out.ends_with(' ')) {
        out += ' ';
      }
      ++i;
    }
  }
  return out;
}

// An entity that is not known stands as it was.
std::string escaped(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '<') {
      out += "&lt;";
    } else if (text[i] == '>') {
      out += "&gt;";
    } else if (text[i] == '&' && entity_end(text, i) == 0) {
      out += "&amp;";
    } else {
      out += text[i];
    }
  }
  return out;
}

size_t tag_end(std::string_view html, size_t at) {
  char quote = 0;
  for (; at < html.size(); ++at) {
    if (quote != 0) {
      if (html[at] == quote) quote = 0;
    } else if (html[at] == '"' || html[at] == '\'') {
      quote = html[at];
    } else if (html[at] == '>') {
      return at + 1;
    }
  }
  return html.size();
}

// Where the markup that begins at `at` ends; `at` itself where it is text.
size_t markup_end(std::string_view html, size_t at) {
  if (html[at] != '<' || at + 1 == html.size()) return at;
  if (starts_with(html, at, "<!--")) {
    const size_t end = html.find("-->", at + 4);
    return end == std::string_view::npos ? html.size() : end + 3;
  }
  const char next = html[at + 1];
  if (std::isalpha(static_cast<unsigned char>(next)) == 0 && next != '/' && next != '!' && next != '?') return at;
  const size_t end = tag_end(html, at);
  for (const std::string_view name : kNotText) {
    const size_t after = at + 1 + name.size();
    if (!starts_with(html, at + 1, name) || after >= html.size() ||
        std::isalnum(static_cast<unsigned char>(html[after])) != 0)
      continue;
    if (html[end - 2] == '/') return end;
    for (size_t close = html.find("</", end); close != std::string_view::npos; close = html.find("</", close + 2)) {
      if (starts_with(html, close + 2, name)) return tag_end(html, close);
    }
    return html.size();
  }
  return end;
}

}  // namespace

HtmlText::HtmlText(std::string_view html) {
  size_t text = 0;
  for (size_t at = 0; at < html.size();) {
    const size_t end = markup_end(html, at);
    if (end == at) {
      ++at;
      continue;
    }
    add_text(html.substr(text, at - text));
    add_markup(html.substr(at, end - at));
    at = text = end;
  }
  add_text(html.substr(text));
}

void HtmlText::add_text(std::string_view text) {
  const auto begin = std::find_if_not(text.begin(), text.end(), is_blank);
  if (begin == text.end()) return add_markup(text);
  const auto end = std::find_if_not(text.rbegin(), text.rend(), is_blank).base();
  add_markup(text.substr(0, static_cast<size_t>(begin - text.begin())));
  texts_.push_back(plain({begin, end}));
  markup_.emplace_back(end, text.end());
}

std::string HtmlText::with(std::span<const std::string> texts) const {
  std::string html = markup_.front();
  for (size_t i = 0; i < texts_.size(); ++i) html += escaped(texts[i]) + markup_[i + 1];
  return html;
}

}  // namespace fovea::app
