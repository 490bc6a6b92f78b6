#include "recipe/toml_fields.h"

#include <toml++/toml.h>

#include "base/error.h"
#include "base/files.h"

namespace fovea {

namespace {

Field::Value value_of(const std::string& key, const toml::node& node) {
  if (const auto* x = node.as_boolean()) return x->get();
  if (const auto* x = node.as_integer()) return x->get();
  if (const auto* x = node.as_floating_point()) return x->get();
  if (const auto* x = node.as_string()) return x->get();
  const toml::array* array = node.as_array();
  if (array == nullptr) fail("{}: expected a string, a number, a list, true or false, got a date or a time", key);
  std::vector<std::string> list;
  for (const toml::node& item : *array) {
    if (item.is_number()) {
      list.push_back(fmt::format("{}", *item.value<double>()));
      continue;
    }
    check(item.is_string(), "{}: expected a list of strings or numbers, got an item of another type", key);
    list.push_back(item.as_string()->get());
  }
  return list;
}

using Lines = std::map<std::string, int64_t>;

void set_all(Fields& fields, const toml::table& table, const std::string& prefix, const std::string& path,
             Lines& lines) {
  for (const auto& [name, node] : table) {
    const std::string key = prefix + std::string(name.str());
    if (const toml::table* part = node.as_table()) {
      set_all(fields, *part, key + ".", path, lines);
      continue;
    }
    try {
      fields.find(key).set(value_of(key, node));
      lines[key] = static_cast<int64_t>(name.source().begin.line);
    } catch (const Error& error) {
      fail("{}:{}: {}", path, name.source().begin.line, error.what());
    }
  }
}

}  // namespace

std::map<std::string, int64_t> fields_from_toml(Fields& fields, const std::string& path) {
  toml::table table;
  try {
    table = toml::parse(read_file(path), path);
  } catch (const toml::parse_error& error) {
    fail("{}:{}: not valid TOML: {}", path, error.source().begin.line, error.description());
  }
  Lines lines;
  set_all(fields, table, "", path, lines);
  return lines;
}

std::string fields_to_toml(const Fields& fields, bool with_help) {
  std::string out, section;
  for (const Field& field : fields.list()) {
    const size_t dot = field.key().rfind('.');
    const std::string part = dot == std::string::npos ? "" : field.key().substr(0, dot);
    if (part != section) {
      out += fmt::format("\n[{}]\n", part);
      section = part;
    }
    if (with_help) out += fmt::format("# {} ({})\n", field.help(), field.type());
    out += fmt::format("{} = {}\n", dot == std::string::npos ? field.key() : field.key().substr(dot + 1), field.text());
  }
  return out;
}

}  // namespace fovea
