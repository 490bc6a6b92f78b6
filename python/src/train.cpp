// fovea.train(): training with a callback that sees its progress and may stop it.
#include <fovea/base/threads.h>
#include <fovea/store/shipped.h>
#include <fovea/train/train.h>

#include <atomic>
#include <exception>
#include <optional>

#include "bindings.h"

namespace fovea::python {

namespace {

struct PyMessage {
  std::string text;
};
struct PyStep {
  StepReport report;
  std::string unit;
};

struct PyResult {
  TrainingResult result;
  std::string folder;
};

// Ends preparations, of which there is nothing to save.
struct Stopped {};

// Calls the callback, and looks for Ctrl-C, between steps. An exception of either is kept until the checkpoint is
// written.
class Listener final : public TrainingListener {
 public:
  Listener(py::object callback, std::atomic<bool>& interrupt) : callback_(std::move(callback)), interrupt_(interrupt) {}

  void message(const std::string& text) override {
    tell([&] { return py::cast(PyMessage{text}); });
  }
  void stepped(const StepReport& report) override {
    tell([&] { return py::cast(PyStep{report, std::string(report.unit)}); });
  }
  void preparing(int64_t, int64_t) override {
    look_for_signals();
    if (interrupt_) throw Stopped();
  }
  void validating(int64_t, int64_t) override { look_for_signals(); }
  void validated(const ValidationReport& report) override {
    tell([&] { return py::cast(report); });
  }

  // To be called with the GIL.
  void rethrow() {
    if (error_) std::rethrow_exception(error_);
  }

 private:
  void look_for_signals() {
    try {
      check_signals();
    } catch (const py::error_already_set&) {
      stop();
    }
  }
  template <class Make> void tell(const Make& make) {
    look_for_signals();
    if (callback_.is_none() || error_) return;
    const py::gil_scoped_acquire acquired;
    try {
      const py::object wish = callback_(make());
      if (wish.ptr() == Py_False) interrupt_ = true;
    } catch (const py::error_already_set&) {
      stop();
    }
  }
  void stop() {
    if (!error_) error_ = std::current_exception();
    interrupt_ = true;
  }

  py::object callback_;
  std::atomic<bool>& interrupt_;
  std::exception_ptr error_;
};

// A value as the program's --set takes it.
std::string setting_text(py::handle value) {
  if (py::isinstance<py::bool_>(value)) return value.cast<bool>() ? "true" : "false";
  if (py::isinstance<py::list>(value) || py::isinstance<py::tuple>(value)) {
    std::string text;
    for (const py::handle item : value) text += (text.empty() ? "" : ",") + setting_text(item);
    return text;
  }
  return py::str(py::hasattr(value, "__fspath__") ? py::object(py::str(path_of(value)))
                                                  : py::reinterpret_borrow<py::object>(value));
}

// While training runs, this process may use fewer threads if other programs keep the cores busy.
struct Adapting {
  Adapting() { adapt_thread_count(true); }
  ~Adapting() { adapt_thread_count(false); }
};

PyResult train_recipe(const py::object& name, py::object callback, const py::dict& settings, bool resume,
                      bool overwrite) {
  check(!resume || !overwrite, "train: expected one of resume and overwrite, got both");
  std::vector<std::string> changes, warnings;
  for (const auto& [key, value] : settings) {
    if (!py::isinstance<py::str>(key)) throw py::type_error("settings: expected names of settings as strings");
    changes.push_back(key.cast<std::string>() + "=" + setting_text(value));
  }
  const Recipe recipe = read_recipe(find_recipe(path_of(name)), changes, &warnings);
  for (const std::string& warning : warnings) warn(warning);
  const Start start = overwrite ? Start::kOverwrite : resume ? Start::kResume : Start::kNew;
  std::atomic<bool> interrupt = false;
  Listener listener(std::move(callback), interrupt);
  PyResult result{{}, recipe.folder};
  try {
    const Working working;
    const Adapting adapting;
    result.result = train(recipe, start, listener, interrupt);
  } catch (const Stopped&) {
    result.result.interrupted = true;
    result.result.why = "interrupted before the first step";
  }
  listener.rethrow();
  return result;
}

}  // namespace

void add_training(py::module_& module) {
  py::class_<PyMessage>(module, "Message", "Something that training says in words.")
      .def_readonly("text", &PyMessage::text)
      .def("__str__", [](const PyMessage& m) { return m.text; });
  const auto report = [](auto member) { return [member](const PyStep& s) { return s.report.*member; }; };
  py::class_<PyStep>(module, "Step", "A training step.")
      .def_property_readonly("step", report(&StepReport::step))
      .def_property_readonly("epoch",
                             [](const PyStep& s) { return static_cast<double>(s.report.epoch) + s.report.epoch_done; })
      .def_property_readonly("loss", report(&StepReport::loss),
                             "Mean over the units since the last line of metrics.jsonl.")
      .def_readonly("unit", &PyStep::unit, "What the loss is a mean of: token, example ...")
      .def_property_readonly("learning_rate", report(&StepReport::learning_rate))
      .def_property_readonly("grad_norm", report(&StepReport::grad_norm))
      .def_property_readonly("tokens_per_second", report(&StepReport::tokens_per_second))
      .def_property_readonly("minutes", report(&StepReport::minutes))
      .def_property_readonly("minutes_left", report(&StepReport::minutes_left),
                             "An estimate; negative if it is unknown.")
      .def_property_readonly("logged", report(&StepReport::logged), "The report is also a line of metrics.jsonl.");
  py::class_<ValidationReport>(module, "Validation", "The result of a validation.")
      .def_readonly("step", &ValidationReport::step)
      .def_readonly("loss", &ValidationReport::loss)
      .def_readonly("metric", &ValidationReport::metric)
      .def_readonly("score", &ValidationReport::score, "By the metric; None if the metric is the loss.")
      .def_property_readonly("scores",
                             [](const ValidationReport& v) {
                               py::dict scores;
                               for (const auto& [name, value] : v.scores) scores[py::str(name)] = value;
                               return scores;
                             })
      .def_readonly("improved", &ValidationReport::improved, "It is the best so far.")
      .def_readonly("best", &ValidationReport::best)
      .def_readonly("example_input", &ValidationReport::example_input)
      .def_readonly("example_output", &ValidationReport::example_output);
  const auto of = [](auto member) { return [member](const PyResult& r) { return r.result.*member; }; };
  py::class_<PyResult>(module, "TrainingResult", "How training ended.")
      .def_readonly("folder", &PyResult::folder, "A model folder; give it to load().")
      .def_property_readonly("steps", of(&TrainingResult::steps))
      .def_property_readonly("metric", of(&TrainingResult::metric))
      .def_property_readonly("best", of(&TrainingResult::best), "By the metric; None before the first validation.")
      .def_property_readonly("minutes", of(&TrainingResult::minutes))
      .def_property_readonly("interrupted", of(&TrainingResult::interrupted))
      .def_property_readonly("why", of(&TrainingResult::why))
      .def("__repr__", [](const PyResult& r) {
        return fmt::format("<fovea.TrainingResult {}: {} steps, {}>", r.folder, r.result.steps, r.result.why);
      });
  module.def(
      "train", train_recipe, py::arg("recipe"), py::arg("callback") = py::none(), py::kw_only(),
      py::arg("settings") = py::dict(), py::arg("resume") = false, py::arg("overwrite") = false,
      "Train by a recipe: a TOML file, the name of a shipped recipe, or the folder of a run.\n\n"
      "callback receives a Step after each step, a Validation after each validation, and a Message; if it returns\n"
      "False or raises an exception, the step is finished and a checkpoint saved. So it is after Ctrl-C, which then\n"
      "raises KeyboardInterrupt. settings changes the recipe: {\"training.steps\": 500, \"folder\": \"runs/mine\"}.");
}

}  // namespace fovea::python
