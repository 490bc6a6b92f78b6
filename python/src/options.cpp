#include <fovea/decode/options.h>

#include "bindings.h"

namespace fovea::python {

namespace {

std::string type_name(py::handle object) { return py::str(py::type::handle_of(object).attr("__name__")); }

Field::Value value_of(py::handle given, const std::string& key) {
  if (py::isinstance<py::bool_>(given)) return given.cast<bool>();
  if (py::isinstance<py::int_>(given) || PyIndex_Check(given.ptr()) != 0)
    return py::int_(py::reinterpret_borrow<py::object>(given)).cast<int64_t>();
  if (py::hasattr(given, "__float__")) return py::float_(py::reinterpret_borrow<py::object>(given)).cast<double>();
  if (py::isinstance<py::str>(given)) return given.cast<std::string>();
  throw py::type_error(fmt::format("{}: expected a number, a string or a bool, got {}", key, type_name(given)));
}

}  // namespace

Texts texts_of(py::handle argument, std::string_view what) {
  if (py::isinstance<py::str>(argument)) return {{argument.cast<std::string>()}, true};
  const auto refuse = [&](py::handle got, std::string_view inside) {
    throw py::type_error(
        fmt::format("{}: expected a string or a sequence of strings, got {}{}", what, inside, type_name(got)));
  };
  if (py::isinstance<py::bytes>(argument) || !py::isinstance<py::iterable>(argument)) refuse(argument, "");
  Texts texts;
  for (const py::handle item : argument) {
    if (!py::isinstance<py::str>(item)) refuse(item, "one with ");
    texts.list.push_back(item.cast<std::string>());
  }
  return texts;
}

std::string path_of(py::handle argument) {
  return py::module_::import("os").attr("fspath")(argument).cast<std::string>();
}

void set_options(Fields& fields, const py::kwargs& given, std::string_view function) {
  for (const auto& [name, value] : given) {
    const std::string key = name.cast<std::string>();
    Field* field = nullptr;
    try {
      field = &fields.find(key);
    } catch (const Error& error) {
      throw py::type_error(fmt::format("{}: {}", function, error.what()));
    }
    field->set(value_of(value, key));
  }
}

SearchOptions search_of(SearchOptions usual, const py::kwargs& given, std::string_view function) {
  SearchOptions search = usual;
  Fields fields = fields_of(search);
  set_options(fields, given, function);
  if (search.sample && !given.contains("beam")) search.beam = 1;  // the default of the model would contradict it
  check_options(search);
  for (const UnusedSetting& unused : unused_settings(fields_of(search), fields_of(usual), {})) warn(unused.message);
  return search;
}

}  // namespace fovea::python
