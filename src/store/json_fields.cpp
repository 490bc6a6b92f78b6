#include "store/json_fields.h"

#include "base/error.h"
#include "base/json.h"

namespace fovea {

namespace {

Field::Value value_of(const std::string& key, const Json& json) {
  if (json.is_boolean()) return json.get<bool>();
  if (json.is_number_integer()) return json.get<int64_t>();
  if (json.is_number()) return json.get<double>();
  if (json.is_string()) return json.get<std::string>();
  check(json.is_array(), "{}: expected a value, got {}", key, json.type_name());
  std::vector<std::string> list;
  for (const Json& item : json) {
    check(item.is_string(), "{}: expected a list of strings, got an item of type {}", key, item.type_name());
    list.push_back(item.get<std::string>());
  }
  return list;
}

using Rename = std::function<std::string(const std::string& key)>;

void set_all(Fields& fields, const Json& object, const std::string& prefix, const Rename& rename) {
  for (const auto& [name, value] : object.items()) {
    if (value.is_object()) {
      set_all(fields, value, prefix + name + ".", rename);
    } else if (const std::string key = rename(prefix + name); !key.empty()) {
      fields.find(key).set(value_of(key, value));
    }
  }
}

}  // namespace

std::string fields_to_json(const Fields& fields) {
  Json root = Json::object();
  for (const Field& field : fields.list()) {
    Json* object = &root;
    std::string_view key = field.key();
    for (size_t dot; (dot = key.find('.')) != std::string_view::npos; key.remove_prefix(dot + 1)) {
      object = &(*object)[std::string(key.substr(0, dot))];
    }
    std::visit([&](const auto& value) { (*object)[std::string(key)] = value; }, field.value());
  }
  return root.dump(2) + "\n";
}

void fields_from_json(Fields& fields, std::string_view json, std::string_view place) {
  fields_from_json(fields, json, place, [](const std::string& key) { return key; });
}

void fields_from_json(Fields& fields, std::string_view json, std::string_view place, const Rename& rename) {
  const Json root = parse_json(json, place);
  check(root.is_object(), "{}: expected a JSON object, got {}", place, brief_value(root));
  try {
    set_all(fields, root, "", rename);
  } catch (const Error& error) {
    fail("{}: {}", place, error.what());
  }
}

}  // namespace fovea
