// Settings that are declared once. A struct of settings declares the name, help and valid values of each member in
// `describe`; recipes, --set, the printed defaults, the documentation and config.json are all derived from it.
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
  Field& choices(std::vector<std::string> valid);  // the only valid values of a string, or of the items of a list
  Field& at_least(double low);
  Field& at_most(double high);
  Field& below(double high);
  // If `met` is false, the setting has no effect; `what` names the settings that it requires.
  Field& needs(bool met, const std::string& what);
  Field& has_no_effect(std::string because);
  // Accepts true and false, which the setting took before it had choices, as these choices.
  Field& was_switch(std::string off, std::string on);
  Field& always_matters();  // undoes needs() and has_no_effect()
  // Names that other toolkits use for this setting. They are suggested in errors but are not accepted as keys.
  Field& also_called(std::vector<std::string> names);

  const std::string& key() const { return key_; }
  const std::string& help() const { return help_; }
  std::string_view name() const;                                 // the last component of the key
  const std::string& why_unused() const { return why_unused_; }  // why the setting has no effect; empty if it has one
  const std::vector<std::string>& other_names() const { return other_names_; }
  std::string type() const;  // "an integer", "one of dot, general", ...
  Value value() const;
  std::string text() const;  // the value in TOML
  // Throws an Error unless the value has the right type, is one of the choices and is within the limits. An integer is
  // accepted as a number, and a string as a list of one string.
  void set(const Value& value);
  // Parses the value of a command-line argument.
  void set_text(std::string_view argument);

 private:
  [[noreturn]] void refuse(std::string_view got) const;
  void check_choice(const std::string& text) const;

  std::string key_, help_, why_unused_;
  Target target_;
  std::vector<std::string> choices_, other_names_, switch_;  // switch: off, on
  double low_ = -std::numeric_limits<double>::infinity(), high_ = std::numeric_limits<double>::infinity();
  bool high_excluded_ = false;
};

class Fields {
 public:
  Field& add(std::string_view name, Field::Target target, std::string help);
  template <class T> Field& add(std::string_view name, T& member, std::string help) {
    return add(name, Field::Target(&member), std::move(help));
  }
  // A range of settings that may all require the same thing.
  struct Section {
    Fields& fields;
    size_t begin, end;
    void needs(bool met, const std::string& what) const;
  };
  // Adds the settings of a nested struct, with the prefix "name.".
  template <class Part> Section section(std::string_view name, Part& part) {
    const std::string before = prefix_;
    const size_t begin = list_.size();
    prefix_ += std::string(name) + ".";
    part.describe(*this);
    prefix_ = before;
    return {*this, begin, list_.size()};
  }
  // The full key of a setting in the section that is being described.
  std::string key(std::string_view name) const { return prefix_ + std::string(name); }

  const std::deque<Field>& list() const { return list_; }
  // Throws an Error for an unknown key; its message suggests the most likely key or lists all keys.
  Field& find(std::string_view key);
  // The key that was most likely meant, judged by aliases and edit distance; empty if none is close.
  std::string nearest_key(std::string_view key) const;

 private:
  std::string prefix_;
  std::deque<Field> list_;
};

template <class Settings> Fields fields_of(Settings& settings) {
  Fields fields;
  settings.describe(fields);
  return fields;
}

// A setting that has no effect given the values of the others, with a sentence for the user.
struct UnusedSetting {
  std::string key, message;
};
// Finds settings without effect that differ from their defaults or are listed in `named`.
std::vector<UnusedSetting> unused_settings(const Fields& fields, const Fields& defaults,
                                           const std::vector<std::string>& named);
template <class Settings>
std::vector<UnusedSetting> unused_settings(Settings settings, const std::vector<std::string>& named = {}) {
  Settings defaults;
  return unused_settings(fields_of(settings), fields_of(defaults), named);
}

// The candidate with the smallest edit distance to `text`; empty if none is close.
std::string nearest_spelling(std::string_view text, const std::vector<std::string>& candidates);

}  // namespace fovea
