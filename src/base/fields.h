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
  // Where `met` is false, the setting has no effect, and `what` says which other settings it needs.
  Field& needs(bool met, const std::string& what);
  Field& has_no_effect(std::string because);
  Field& always_matters();  // takes back either
  // What other toolkits call it: for suggestions, never read as the setting itself.
  Field& also_called(std::vector<std::string> names);

  const std::string& key() const { return key_; }
  const std::string& help() const { return help_; }
  std::string_view name() const;                                 // the key's last part
  const std::string& why_unused() const { return why_unused_; }  // why it has no effect; empty if it has one
  const std::vector<std::string>& other_names() const { return other_names_; }
  std::string type() const;  // "an integer", "one of dot, general", ...
  Value value() const;
  std::string text() const;  // the value as a recipe would write it
  // Error unless the value has the type, is one of the choices and is within the limits. An integer is
  // accepted as a number, and one string as a list of one.
  void set(const Value& value);
  // From a word on the command line.
  void set_text(std::string_view word);

 private:
  [[noreturn]] void refuse(std::string_view got) const;

  std::string key_, help_, why_unused_;
  Target target_;
  std::vector<std::string> choices_, other_names_;
  double low_ = -std::numeric_limits<double>::infinity(), high_ = std::numeric_limits<double>::infinity();
  bool high_excluded_ = false;
};

class Fields {
 public:
  Field& add(std::string_view name, Field::Target target, std::string help);
  template <class T> Field& add(std::string_view name, T& member, std::string help) {
    return add(name, Field::Target(&member), std::move(help));
  }
  // The settings added between two points, which may all need something.
  struct Section {
    Fields& fields;
    size_t begin, end;
    void needs(bool met, const std::string& what) const;
  };
  // The settings of a part, under "name.".
  template <class Part> Section section(std::string_view name, Part& part) {
    const std::string before = prefix_;
    const size_t begin = list_.size();
    prefix_ += std::string(name) + ".";
    part.describe(*this);
    prefix_ = before;
    return {*this, begin, list_.size()};
  }
  // The full key of a setting of the section that is being described.
  std::string key(std::string_view name) const { return prefix_ + std::string(name); }

  const std::deque<Field>& list() const { return list_; }
  // Error when there is no such key, with the most likely one or all that there are.
  Field& find(std::string_view key);
  // The key that was most likely meant, by its other names and by spelling; empty when none is near.
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

// What to tell users about settings that have no effect beside the others: those that are not at their defaults, and
// those in `named` whatever their value. Each is the key and a sentence about it.
struct UnusedSetting {
  std::string key, message;
};
std::vector<UnusedSetting> unused_settings(const Fields& fields, const Fields& defaults,
                                           const std::vector<std::string>& named);
template <class Settings>
std::vector<UnusedSetting> unused_settings(Settings settings, const std::vector<std::string>& named = {}) {
  Settings defaults;
  return unused_settings(fields_of(settings), fields_of(defaults), named);
}

// The word of `words` that is spelt most like `word`; empty when none is near.
std::string nearest_spelling(std::string_view word, const std::vector<std::string>& words);

}  // namespace fovea
