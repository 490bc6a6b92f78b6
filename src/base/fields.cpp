#include "base/fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/error.h"

namespace fovea {

namespace {

// Edits (insert, remove, replace) from one word to the other.
size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, replaced});
    }
  }
  return row[b.size()];
}

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (c == '\n') {
      out += "\\n";
    } else {
      out += c;
    }
  }
  return out + "\"";
}

std::string written(const Field::Value& value) {
  struct Writer {
    std::string operator()(bool x) const { return x ? "true" : "false"; }
    std::string operator()(int64_t x) const { return fmt::format("{}", x); }
    std::string operator()(double x) const {
      std::string text = fmt::format("{}", x);
      return text.find_first_of(".en") == std::string::npos ? text + ".0" : text;
    }
    std::string operator()(const std::string& x) const { return quoted(x); }
    std::string operator()(const std::vector<std::string>& x) const {
      std::string out = "[";
      for (const std::string& item : x) out += (out.size() > 1 ? ", " : "") + quoted(item);
      return out + "]";
    }
  };
  return std::visit(Writer{}, value);
}

}  // namespace

std::string nearest_spelling(std::string_view word, const std::vector<std::string>& words) {
  std::string best;
  size_t least = std::max<size_t>(2, word.size() / 3) + 1;
  for (const std::string& candidate : words) {
    const size_t distance = edit_distance(word, candidate);
    if (distance < least) least = distance, best = candidate;
  }
  return best;
}

Field::Field(std::string key, Target target, std::string help)
    : key_(std::move(key)), help_(std::move(help)), target_(target) {}

Field& Field::choices(std::vector<std::string> valid) {
  choices_ = std::move(valid);
  return *this;
}
Field& Field::at_least(double low) {
  low_ = low;
  return *this;
}
Field& Field::at_most(double high) {
  high_ = high;
  return *this;
}
Field& Field::below(double high) {
  high_excluded_ = true;
  return at_most(high);
}

std::string Field::type() const {
  if (!choices_.empty()) return fmt::format("one of {}", fmt::join(choices_, ", "));
  constexpr std::string_view kTypes[] = {"true or false", "a whole number", "a number", "a text", "a list of texts"};
  std::string type(kTypes[target_.index()]);
  if (std::isfinite(low_)) type += fmt::format(" of at least {}", low_);
  if (std::isfinite(high_))
    type += fmt::format("{} {} {}", std::isfinite(low_) ? " and" : "", high_excluded_ ? "below" : "at most", high_);
  return type;
}

Field::Value Field::value() const {
  return std::visit([](auto* member) { return Value(*member); }, target_);
}

std::string Field::text() const { return written(value()); }

void Field::refuse(std::string_view got) const { fail("{}: expected {}, got {}", key_, type(), got); }

void Field::set(const Value& value) {
  Value kept = value;
  if (std::holds_alternative<double*>(target_) && std::holds_alternative<int64_t>(value)) {
    kept = static_cast<double>(std::get<int64_t>(value));
  }
  if (std::holds_alternative<std::vector<std::string>*>(target_) && std::holds_alternative<std::string>(value)) {
    kept = std::vector<std::string>{std::get<std::string>(value)};
  }
  if (kept.index() != target_.index()) refuse(written(value));
  double number = 0.0;
  if (const auto* whole = std::get_if<int64_t>(&kept)) number = static_cast<double>(*whole);
  if (const auto* real = std::get_if<double>(&kept)) number = *real;
  if (std::isnan(number) || number < low_ || number > high_ || (high_excluded_ && number == high_)) {
    refuse(written(value));
  }
  if (const auto* text = std::get_if<std::string>(&kept); text != nullptr && !choices_.empty()) {
    if (std::find(choices_.begin(), choices_.end(), *text) == choices_.end()) {
      const std::string near = nearest_spelling(*text, choices_);
      refuse(quoted(*text) + (near.empty() ? "" : fmt::format(" (did you mean {}?)", near)));
    }
  }
  std::visit([&](auto* member) { *member = std::get<std::remove_pointer_t<decltype(member)>>(kept); }, target_);
}

void Field::set_text(std::string_view word) {
  const auto number = [&](auto parsed) {
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), parsed);
    if (error != std::errc() || end != word.data() + word.size()) refuse(quoted(word));
    set(parsed);
  };
  if (std::holds_alternative<bool*>(target_)) {
    if (word != "true" && word != "false") refuse(quoted(word));
    set(word == "true");
  } else if (std::holds_alternative<int64_t*>(target_)) {
    number(int64_t{0});
  } else if (std::holds_alternative<double*>(target_)) {
    number(0.0);
  } else if (std::holds_alternative<std::string*>(target_)) {
    set(std::string(word));
  } else {
    std::vector<std::string> items;
    for (size_t begin = 0; !word.empty() && begin <= word.size();) {
      const size_t end = std::min(word.find(',', begin), word.size());
      items.emplace_back(word.substr(begin, end - begin));
      begin = end + 1;
    }
    set(items);
  }
}

Field& Fields::add(std::string_view name, Field::Target target, std::string help) {
  return list_.emplace_back(prefix_ + std::string(name), target, std::move(help));
}

Field& Fields::find(std::string_view key) {
  std::vector<std::string> keys;
  for (Field& field : list_) {
    if (field.key() == key) return field;
    keys.push_back(field.key());
  }
  const std::string near = nearest_spelling(key, keys);
  // Those of its section; where there is no such section, of that of the nearest one.
  const auto neighbours = [&](std::string_view of) {
    const std::string_view section = of.substr(0, of.rfind('.') + 1);
    std::vector<std::string> found;
    for (const std::string& k : keys) {
      if (!section.empty() && k.starts_with(section)) found.push_back(k);
    }
    return found;
  };
  std::vector<std::string> listed = neighbours(key);
  if (listed.empty()) listed = neighbours(near);
  fail("{}: no such setting{}; there are: {}", key, near.empty() ? "" : fmt::format(" (did you mean {}?)", near),
       fmt::join(listed.empty() ? keys : listed, ", "));
}

}  // namespace fovea
