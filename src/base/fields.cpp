#include "base/fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <numeric>

#include "base/error.h"

namespace fovea {

namespace {

// The Damerau-Levenshtein distance: insertions, deletions, substitutions and swaps of neighbours.
size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> two_before, before(b.size() + 1), row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    two_before = before;
    before = row;
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replaced = before[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({before[j] + 1, row[j - 1] + 1, replaced});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[j] = std::min(row[j], two_before[j - 2] + 1);
    }
  }
  return row[b.size()];
}

std::string_view last_part(std::string_view key) { return key.substr(key.rfind('.') + 1); }
std::string_view section_of(std::string_view key) { return key.substr(0, key.rfind('.') + 1); }

// Whether one name is a prefix of the other, as warmup is of warmup_steps.
bool extends(std::string_view a, std::string_view b) {
  constexpr size_t kLeast = 3;
  return std::min(a.size(), b.size()) >= kLeast && (a.starts_with(b) || b.starts_with(a));
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

std::string nearest_spelling(std::string_view text, const std::vector<std::string>& candidates) {
  constexpr size_t kLongest = 64;  // a longer text is not a misspelling, and the distance takes quadratic time
  std::string best;
  if (text.size() > kLongest) return best;
  const size_t max_edits = text.size() <= 3 ? 1 : std::max<size_t>(2, text.size() / 3);
  size_t least = max_edits + 1;
  for (const std::string& candidate : candidates) {
    const size_t distance = edit_distance(text, candidate);
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
Field& Field::needs(bool met, const std::string& what) {
  if (!met) why_unused_ = "it needs " + what;
  return *this;
}
Field& Field::has_no_effect(std::string because) {
  why_unused_ = std::move(because);
  return *this;
}
Field& Field::was_switch(std::string off, std::string on) {
  switch_ = {std::move(off), std::move(on)};
  return *this;
}
Field& Field::always_matters() {
  why_unused_.clear();
  return *this;
}
Field& Field::also_called(std::vector<std::string> names) {
  other_names_ = std::move(names);
  return *this;
}

std::string_view Field::name() const { return last_part(key_); }

std::string Field::type() const {
  if (!choices_.empty()) {
    std::vector<std::string> named = choices_;
    const bool may_be_empty = std::erase(named, "") > 0;
    const bool list = std::holds_alternative<std::vector<std::string>*>(target_);
    return fmt::format("{} {}{}", list ? "a list of" : "one of", fmt::join(named, ", "),
                       may_be_empty ? ", or empty" : "");
  }
  constexpr std::string_view kTypes[] = {"true or false", "an integer", "a number", "a string", "a list of strings"};
  std::string type(kTypes[target_.index()]);
  const bool low = std::isfinite(low_), high = std::isfinite(high_);
  if (low) type += fmt::format(" of at least {}", low_);
  if (high) type += fmt::format(" {}{} {}", low ? "and " : "", high_excluded_ ? "below" : "at most", high_);
  return type;
}

Field::Value Field::value() const {
  return std::visit([](auto* member) { return Value(*member); }, target_);
}

std::string Field::text() const { return written(value()); }

void Field::refuse(std::string_view got) const { fail("{}: expected {}, got {}", key_, type(), got); }

void Field::check_choice(const std::string& text) const {
  if (choices_.empty() || std::find(choices_.begin(), choices_.end(), text) != choices_.end()) return;
  const std::string near = nearest_spelling(text, choices_);
  refuse(quoted(text) + (near.empty() ? "" : fmt::format(" (did you mean {}?)", near)));
}

void Field::set(const Value& value) {
  Value converted = value;
  if (std::holds_alternative<double*>(target_) && std::holds_alternative<int64_t>(value)) {
    converted = static_cast<double>(std::get<int64_t>(value));
  }
  if (std::holds_alternative<std::vector<std::string>*>(target_) && std::holds_alternative<std::string>(value)) {
    converted = std::vector<std::string>{std::get<std::string>(value)};
  }
  if (!switch_.empty() && std::holds_alternative<bool>(value)) converted = switch_[std::get<bool>(value) ? 1 : 0];
  if (converted.index() != target_.index()) refuse(written(value));
  double number = 0.0;
  if (const auto* whole = std::get_if<int64_t>(&converted)) number = static_cast<double>(*whole);
  if (const auto* real = std::get_if<double>(&converted)) number = *real;
  if (std::isnan(number) || number < low_ || number > high_ || (high_excluded_ && number == high_)) {
    refuse(written(value));
  }
  if (const auto* text = std::get_if<std::string>(&converted)) check_choice(*text);
  if (const auto* list = std::get_if<std::vector<std::string>>(&converted)) {
    for (const std::string& item : *list) check_choice(item);
  }
  std::visit([&](auto* member) { *member = std::get<std::remove_pointer_t<decltype(member)>>(converted); }, target_);
}

void Field::set_text(std::string_view argument) {
  const auto number = [&](auto parsed) {
    const auto [end, error] = std::from_chars(argument.data(), argument.data() + argument.size(), parsed);
    if (error != std::errc() || end != argument.data() + argument.size()) refuse(quoted(argument));
    set(parsed);
  };
  if (std::holds_alternative<bool*>(target_)) {
    if (argument != "true" && argument != "false") refuse(quoted(argument));
    set(argument == "true");
  } else if (std::holds_alternative<int64_t*>(target_)) {
    number(int64_t{0});
  } else if (std::holds_alternative<double*>(target_)) {
    number(0.0);
  } else if (!switch_.empty() && (argument == "true" || argument == "false")) {
    set(argument == "true");
  } else if (std::holds_alternative<std::string*>(target_)) {
    set(std::string(argument));
  } else {
    std::vector<std::string> items;
    for (size_t begin = 0; !argument.empty() && begin <= argument.size();) {
      const size_t end = std::min(argument.find(',', begin), argument.size());
      items.emplace_back(argument.substr(begin, end - begin));
      begin = end + 1;
    }
    set(items);
  }
}

Field& Fields::add(std::string_view name, Field::Target target, std::string help) {
  return list_.emplace_back(prefix_ + std::string(name), target, std::move(help));
}

Field& Fields::find(std::string_view key) {
  for (Field& field : list_) {
    if (field.key() == key) return field;
  }
  if (const std::string near = nearest_key(key); !near.empty()) {
    fail("{}: there is no such setting; did you mean {}?", key, near);
  }
  std::vector<std::string> all, here;  // here: in the same section
  for (const Field& field : list_) {
    all.push_back(field.key());
    if (!section_of(key).empty() && field.key().starts_with(section_of(key))) here.push_back(field.key());
  }
  fail("{}: there is no such setting; expected one of {}", key, fmt::join(here.empty() ? all : here, ", "));
}

std::string Fields::nearest_key(std::string_view key) const {
  std::string name(last_part(key));
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return c == '-' ? '_' : static_cast<char>(std::tolower(c)); });
  // The first matching field, preferably one of the same section.
  const auto first = [&](const auto& fits, bool anywhere) -> std::string {
    const Field* found = nullptr;
    for (const Field& field : list_) {
      if (!fits(field)) continue;
      if (section_of(field.key()) == section_of(key)) return field.key();
      if (found == nullptr) found = &field;
    }
    return found != nullptr && anywhere ? found->key() : "";
  };
  const auto called = [&](const Field& field) {
    const std::vector<std::string>& names = field.other_names();
    return field.name() == name || std::find(names.begin(), names.end(), name) != names.end();
  };
  if (std::string near = first(called, true); !near.empty()) return near;
  std::vector<std::string> keys, neighbours;
  for (const Field& field : list_) {
    keys.push_back(field.key());
    if (section_of(field.key()) == section_of(key)) neighbours.emplace_back(field.name());
  }
  if (const std::string near = nearest_spelling(name, neighbours); !near.empty()) {
    return std::string(section_of(key)) + near;
  }
  if (std::string near = first([&](const Field& field) { return extends(field.name(), name); }, false); !near.empty()) {
    return near;
  }
  if (section_of(key).empty()) {  // the section may have been left out
    std::vector<std::string> names;
    for (const Field& field : list_) names.emplace_back(field.name());
    const std::string near = nearest_spelling(name, names);
    if (!near.empty()) return first([&](const Field& field) { return field.name() == near; }, true);
  }
  return nearest_spelling(key, keys);
}

void Fields::Section::needs(bool met, const std::string& what) const {
  for (size_t i = begin; i < end; ++i) fields.list_[i].needs(met, what);
}

std::vector<UnusedSetting> unused_settings(const Fields& fields, const Fields& defaults,
                                           const std::vector<std::string>& named) {
  std::vector<UnusedSetting> unused;
  for (size_t i = 0; i < fields.list().size(); ++i) {
    const Field& field = fields.list()[i];
    if (field.why_unused().empty()) continue;
    const bool is_named = std::find(named.begin(), named.end(), field.key()) != named.end();
    if (!is_named && field.text() == defaults.list()[i].text()) continue;
    unused.push_back({field.key(), fmt::format("{} has no effect: {}", field.key(), field.why_unused())});
  }
  return unused;
}

}  // namespace fovea
