// import fovea._fovea: errors, threads and signals; the other parts add classes and functions.
#include <fovea/base/threads.h>
#include <fovea/store/shipped.h>

#include <atomic>
#include <thread>

#include "bindings.h"

namespace fovea::python {

namespace {

// The threads of the pool do not survive fork(): in a child process everything runs on the calling thread.
std::atomic<int> chosen_threads = 0;  // 0: all cores
std::atomic<bool> forked = false;

void set_threads(int threads) {
  check(threads >= 0, "threads: expected 0 for all cores, or a number above it, got {}", threads);
  check(threads == 1 || !forked,
        "threads: expected 1 in a process that was started by fork; start processes with "
        "multiprocessing.set_start_method(\"spawn\") to use more");
  chosen_threads = threads;
}

void after_fork() {
  forked = true;
  chosen_threads = 1;
}

}  // namespace

Working::Working() {
  static const int all = thread_count();
  set_thread_count(chosen_threads == 0 ? all : chosen_threads.load());
}

void check_signals() {
  const py::gil_scoped_acquire acquired;
  if (PyErr_CheckSignals() != 0) throw py::error_already_set();
}

std::function<void(int64_t)> interruptible() {
  return [caller = std::this_thread::get_id()](int64_t) {
    if (std::this_thread::get_id() == caller) check_signals();
  };
}

void warn(const std::string& message) {
  if (PyErr_WarnEx(PyExc_UserWarning, message.c_str(), 1) != 0) throw py::error_already_set();
}

}  // namespace fovea::python

PYBIND11_MODULE(_fovea, module) {
  using namespace fovea::python;
  module.doc() = "The compiled part of fovea.";
  module.attr("__version__") = FOVEA_VERSION;
  py::register_exception<fovea::Error>(module, "Error", PyExc_RuntimeError).doc() =
      "What a user or a file did wrong; the message says what was expected, as the program's does.";
  module.def("set_threads", set_threads, py::arg("threads"),
             "Use this many CPU threads in each call; 0 for all cores, which is the default.");
  module.def("models", fovea::shipped_models, "The folders of the models that load() finds by name.");
  module.def("_add_shipped_folder", fovea::add_shipped_folder);
  add_results(module);
  add_records(module);
  add_models(module);
  add_training(module);
  py::module_::import("os").attr("register_at_fork")(py::arg("after_in_child") = py::cpp_function(after_fork));
}
