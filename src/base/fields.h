// Settings declared once. A struct of settings says in `describe` what each member is called, means and
// may be; reading a recipe, --set, printing defaults, the documentation and config.json all walk that.
//
//   struct Window {
//     int64_t width = 5;
//     void describe(Fields& f) { f.add("width", width, "Half the window, in tokens.").at_least(1); }
//   };
#pragma once

#include <cstdint>
#include <deque>
#include <limits>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace fovea {

// One setting, bound to a member of a live struct.
class Field {
 public:
  using Target = std::variant<bool*, int64_t*, double*, std::string*, std::vector<std::string>*>;
  using Value = std::variant<bool, int64_t, double, std::string, std::vector<std::string>>;

  Field(std::string key, Target target, std::string help);
  Field& choices(std::vector<std::string> valid);  // the only values a text may have
  Field& at_least(double low);
  Field& at_most(double high);
  Field& below(double high);

  const std::string& key() const { return key_; }
  const std::string& help() const { return help_; }
  std::string type() const;  // "whole number", "one of dot, general", ...
  Value value() const;
  std::string text() const;  // the value as a recipe would write it
  // Error unless the value has the type, is one of the choices and lies within the limits. A whole
  // number is taken for a number, and one text for a list of one.
  void set(const Value& value);
  // From a word on the command line.
  void set_text(std::string_view word);

 private:
  [[noreturn]] void refuse(std::string_view got) const;

  std::string key_, help_;
  Target target_;
  std::vector<std::string> choices_;
  double low_ = -std::numeric_limits<double>::infinity(), high_ = std::numeric_limits<double>::infinity();
  bool high_excluded_ = false;
};

class Fields {
 public:
  Field& add(std::string_view name, Field::Target target, std::string help);
  template <class T> Field& add(std::string_view name, T& member, std::string help) {
    return add(name, Field::Target(&member), std::move(help));
  }
  // The settings of a part, under "name.".
  template <class Part> void section(std::string_view name, Part& part) {
    const std::string before = prefix_;
    prefix_ += std::string(name) + ".";
    part.describe(*this);
    prefix_ = before;
  }

  const std::deque<Field>& list() const { return list_; }
  // Error with the nearest spelling and what there is, when there is no such key.
  Field& find(std::string_view key);

 private:
  std::string prefix_;
  std::deque<Field> list_;
};

template <class Settings> Fields fields_of(Settings& settings) {
  Fields fields;
  settings.describe(fields);
  return fields;
}

// The word of `words` that is spelt most like `word`; empty when none is near.
std::string nearest_spelling(std::string_view word, const std::vector<std::string>& words);

}  // namespace fovea
