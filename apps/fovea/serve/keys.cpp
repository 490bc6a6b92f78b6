#include "fovea/serve/keys.h"

#include <algorithm>
#include <sstream>

#include "base/error.h"
#include "base/files.h"

namespace fovea::app {

namespace {

bool same_key(std::string_view a, std::string_view b) {
  unsigned difference = a.size() == b.size() ? 0 : 1;
  for (size_t i = 0; i < a.size(); ++i) {
    difference |= static_cast<unsigned char>(a[i]) ^ static_cast<unsigned char>(b.empty() ? 0 : b[i % b.size()]);
  }
  return difference == 0;
}

}  // namespace

void Keys::add(const std::string& name, const std::string& key) {
  const auto known = [&](const Key& k) { return k.name == name; };
  check(std::none_of(keys_.begin(), keys_.end(), known), "API keys: the name \"{}\" is there twice", name);
  keys_.push_back({name, key});
}

void Keys::read(const std::string& path) {
  std::istringstream lines(read_file(path));
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    std::istringstream words(line);
    std::string name, key, more;
    if (!(words >> name) || name.starts_with('#')) continue;
    words >> key;
    check(!key.empty() && !(words >> more), "{}:{}: expected a name and a key, separated by blanks", path, number);
    add(name, key);
  }
  check(!empty(), "{}: expected a line with a name and a key", path);
}

const std::string* Keys::find(std::string_view key) const {
  const std::string* found = nullptr;
  for (const Key& known : keys_) {
    if (same_key(key, known.key)) found = &known.name;
  }
  return found;
}

}  // namespace fovea::app
