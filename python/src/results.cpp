// What the methods of a model return.
#include <cmath>

#include "bindings.h"

namespace fovea::python {

namespace {

std::string quoted(const std::string& text) { return py::repr(py::str(text)); }

// Classes of results are immutable, so every attribute is a copy or a shared record.
void add_candidates(py::module_& module) {
  py::class_<PyCandidate>(module, "Candidate", "One output of a model, with its score.")
      .def_readonly("text", &PyCandidate::text)
      .def_readonly("score", &PyCandidate::score, "The number by which candidates are ordered: log p after penalties.")
      .def_readonly("log_probability", &PyCandidate::log_probability)
      .def_readonly("ended", &PyCandidate::ended, "False if the maximum length was reached before an end mark.")
      .def_readonly("record", &PyCandidate::record, "What it attended to, if that was asked for; otherwise None.")
      .def("__str__", [](const PyCandidate& c) { return c.text; })
      .def("__repr__", [](const PyCandidate& c) {
        return fmt::format("Candidate(text={}, score={:.4f})", quoted(c.text), c.score);
      });
}

// A result whose attributes are those of its best candidate.
template <class Result> py::class_<Result> add_written(py::module_& module, const char* name, const char* help) {
  const auto best = [](const Result& result) -> const PyCandidate& { return result.candidates.front(); };
  return py::class_<Result>(module, name, help)
      .def_readonly("candidates", &Result::candidates, "Best first; as many as nbest.")
      .def_property_readonly("text", [best](const Result& r) { return best(r).text; })
      .def_property_readonly("score", [best](const Result& r) { return best(r).score; })
      .def_property_readonly("log_probability", [best](const Result& r) { return best(r).log_probability; })
      .def_property_readonly("ended", [best](const Result& r) { return best(r).ended; })
      .def_property_readonly("record", [best](const Result& r) { return best(r).record; })
      .def("__str__", [best](const Result& r) { return best(r).text; })
      .def("__repr__", [best, name = std::string(name)](const Result& r) {
        return fmt::format("{}(text={}, score={:.4f})", name, quoted(best(r).text), best(r).score);
      });
}

void add_scores(py::module_& module) {
  py::class_<PyScore>(module, "Score", "How likely a given target is.")
      .def_readonly("log_probability", &PyScore::log_probability, "Of the whole target, the end mark included.")
      .def_property_readonly(
          "log_probabilities",
          [](const PyScore& s) {
            return py::array_t<float>(static_cast<py::ssize_t>(s.log_probabilities.size()), s.log_probabilities.data());
          },
          "Of each token, the last one is the end mark.")
      .def_property_readonly(
          "perplexity",
          [](const PyScore& s) {
            return std::exp(-s.log_probability / static_cast<double>(s.log_probabilities.size()));
          },
          "exp(-log p / tokens)")
      .def_readonly("record", &PyScore::record)
      .def("__float__", [](const PyScore& s) { return s.log_probability; })
      .def("__repr__",
           [](const PyScore& s) { return fmt::format("Score(log_probability={:.4f})", s.log_probability); });
}

void add_classifications(py::module_& module) {
  py::class_<ClassProbability>(module, "Class", "A label and its probability.")
      .def_readonly("label", &ClassProbability::label)
      .def_readonly("probability", &ClassProbability::probability)
      .def("__repr__", [](const ClassProbability& c) {
        return fmt::format("Class(label={}, probability={:.4f})", quoted(c.label), c.probability);
      });
  py::class_<PyClassification>(module, "Classification", "The classes of a text or picture.")
      .def_readonly("classes", &PyClassification::classes, "All of them, likeliest first.")
      .def_property_readonly("label", [](const PyClassification& c) { return c.classes.front().label; })
      .def_property_readonly("probability", [](const PyClassification& c) { return c.classes.front().probability; })
      .def_readonly("tokens", &PyClassification::tokens, "Of the whole text; 0 for a picture.")
      .def_readonly("truncated", &PyClassification::truncated, "The text was longer than the model reads.")
      .def_readonly("record", &PyClassification::record)
      .def("__str__", [](const PyClassification& c) { return c.classes.front().label; })
      .def("__repr__", [](const PyClassification& c) {
        return fmt::format("Classification(label={}, probability={:.4f})", quoted(c.classes.front().label),
                           c.classes.front().probability);
      });
}

void add_answers(py::module_& module) {
  py::class_<Answer>(module, "Span", "A piece of a passage: its characters from begin to end.")
      .def_readonly("text", &Answer::text)
      .def_readonly("begin", &Answer::begin)
      .def_readonly("end", &Answer::end)
      .def_readonly("probability", &Answer::probability)
      .def("__repr__", [](const Answer& a) {
        return fmt::format("Span(text={}, begin={}, end={}, probability={:.4f})", quoted(a.text), a.begin, a.end,
                           a.probability);
      });
  const auto best = [](const PyReading& r) -> const Answer& { return r.answers.front(); };
  py::class_<PyReading>(module, "Answer", "The answer to a question: a piece of the passage.")
      .def_readonly("candidates", &PyReading::answers, "Best first; they do not overlap.")
      .def_property_readonly("text", [best](const PyReading& r) { return best(r).text; })
      .def_property_readonly("begin", [best](const PyReading& r) { return best(r).begin; })
      .def_property_readonly("end", [best](const PyReading& r) { return best(r).end; })
      .def_property_readonly("probability", [best](const PyReading& r) { return best(r).probability; })
      .def_readonly("windows", &PyReading::windows, "In which the passage was read.")
      .def_readonly("question_truncated", &PyReading::question_truncated)
      .def_readonly("record", &PyReading::record, "Of the window with the best answer.")
      .def("__str__", [best](const PyReading& r) { return best(r).text; })
      .def("__repr__", [best](const PyReading& r) {
        return fmt::format("Answer(text={}, probability={:.4f})", quoted(best(r).text), best(r).probability);
      });
}

}  // namespace

void add_results(py::module_& module) {
  add_candidates(module);
  add_written<PyTranslation>(module, "Translation", "The output for a text, and its best candidate's attributes.")
      .def_readonly("source_tokens", &PyTranslation::source_tokens, "Of the whole text.")
      .def_readonly("truncated", &PyTranslation::truncated, "The text was longer than the model reads.")
      .def_readonly("unknown_tokens", &PyTranslation::unknown_tokens, "Tokens that are not in the vocabulary.");
  add_written<PyCaption>(module, "Caption", "The description of a picture, and its best candidate's attributes.");
  add_scores(module);
  add_classifications(module);
  add_answers(module);
}

}  // namespace fovea::python
