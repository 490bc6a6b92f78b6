// API keys with names. The log and the limits use the names; the keys are never shown.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace fovea::app {

class Keys {
 public:
  void add(const std::string& name, const std::string& key);
  // A file with a line for each key: a name, blanks, the key. Empty lines and lines that begin with # do not count.
  void read(const std::string& path);

  bool empty() const { return keys_.empty(); }
  // The name of a key; null where there is none. Takes the same time for every key of the same length.
  const std::string* find(std::string_view key) const;

 private:
  struct Key {
    std::string name, key;
  };
  std::vector<Key> keys_;
};

}  // namespace fovea::app
