// The parts of the Python module. Every part adds its classes and functions to the module; they share the conversions
// below. Only public headers of the library are included, as in any program outside this project.
#pragma once

#include <fmt/format.h>
#include <fovea/attention/record.h>
#include <fovea/base/error.h>
#include <fovea/base/fields.h>
#include <fovea/tasks/reader.h>
#include <fovea/vision/image.h>
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace fovea {
struct SearchOptions;
}

namespace fovea::python {

namespace py = pybind11;

using SharedRecord = std::shared_ptr<AttentionRecord>;

void add_results(py::module_& module);
void add_records(py::module_& module);
void add_models(py::module_& module);
void add_training(py::module_& module);

// ---- work (module.cpp)

// Work in C++, without the GIL and with the number of threads that the user has chosen.
class Working {
 public:
  Working();

 private:
  py::gil_scoped_release released_;
};
// To be called from time to time while the GIL is released: raises KeyboardInterrupt if the user has pressed Ctrl-C and
// this is the thread on which Python receives signals.
void check_signals();
// The same as a callback of work that reports how much of it is done, on any thread.
std::function<void(int64_t)> interruptible();
void warn(const std::string& message);  // as a Python warning

// ---- arguments (options.cpp)

// The texts of an argument that is a string or an iterable of strings. `single` tells which.
struct Texts {
  std::vector<std::string> list;
  bool single = false;
};
Texts texts_of(py::handle argument, std::string_view what);
std::string path_of(py::handle argument);  // str or os.PathLike

// Sets the options that are given by keyword. Raises TypeError for a name that none of them has, with the nearest
// spelling, and fovea.Error for a value that is not valid.
void set_options(Fields& fields, const py::kwargs& given, std::string_view function);
// The usual search of a model with the options that are given by keyword; warns of options without effect.
SearchOptions search_of(SearchOptions usual, const py::kwargs& given, std::string_view function);

// ---- pictures (images.cpp)

// A picture as a model reads it, and larger, as a record shows it.
struct Picture {
  Image image, shown;
  std::string name;
};
// Pictures are files or arrays of uint8 [height, width, 3]. Those for records are read twice.
struct Pictures {
  std::vector<Picture> list;
  bool single = false;
};
Pictures pictures_of(py::handle argument, int64_t size, bool for_records, std::string_view what);

// ---- results (results.cpp)

// A list of results, or the only one of a single argument.
template <class Result> py::object returned(std::vector<Result>& results, bool single) {
  if (single) return py::cast(std::move(results.front()));
  py::list list;
  for (Result& result : results) list.append(py::cast(std::move(result)));
  return list;
}

struct PyCandidate {
  std::string text;
  double score = 0, log_probability = 0;
  bool ended = true;
  SharedRecord record;
};
struct PyTranslation {
  std::vector<PyCandidate> candidates;
  int64_t source_tokens = 0, unknown_tokens = 0;
  bool truncated = false;
};
struct PyCaption {
  std::vector<PyCandidate> candidates;
};
struct PyScore {
  double log_probability = 0;
  std::vector<float> log_probabilities;  // of each token
  SharedRecord record;
};
struct PyClassification {
  std::vector<ClassProbability> classes;
  int64_t tokens = 0;
  bool truncated = false;
  SharedRecord record;
};
struct PyReading {
  std::vector<Answer> answers;
  int64_t windows = 1;
  bool question_truncated = false;
  SharedRecord record;
};

}  // namespace fovea::python
