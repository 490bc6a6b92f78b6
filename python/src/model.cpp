// fovea.load() and the model that it returns.
#include <fovea/decode/options.h>
#include <fovea/decode/translator.h>
#include <fovea/store/shipped.h>
#include <fovea/store/task_names.h>
#include <fovea/tasks/captioner.h>
#include <fovea/tasks/classifier.h>
#include <fovea/tasks/image_classifier.h>

#include <algorithm>
#include <optional>
#include <variant>

#include "bindings.h"

namespace fovea::python {

namespace {

constexpr int64_t kAlternatives = 5;  // of each step of a record, unless the user asks for another number

// What a record holds besides the weights.
struct Capture {
  bool record = false, scores = false;
  int64_t alternatives = 0;
};

// Removes the options of a capture from the keywords and leaves those of the search.
Capture capture_of(py::kwargs& options, bool record, std::string_view function) {
  Capture capture{.record = record, .alternatives = record ? kAlternatives : 0};
  const auto take = [&](const char* name) -> py::object {
    if (!options.contains(name)) return py::none();
    check(record, "{}: expected record=True with {}", function, name);
    return options.attr("pop")(name);
  };
  if (const py::object alternatives = take("alternatives"); !alternatives.is_none()) {
    capture.alternatives = alternatives.cast<int64_t>();
    check(capture.alternatives >= 0, "alternatives: expected at least 0, got {}", capture.alternatives);
  }
  if (const py::object scores = take("scores"); !scores.is_none()) capture.scores = scores.cast<bool>();
  return capture;
}

SharedRecord shared(AttentionRecord record, size_t line, size_t rank, const std::string& search) {
  record.line = static_cast<int64_t>(line) + 1;
  record.rank = static_cast<int64_t>(rank) + 1;
  if (!search.empty()) record.search = search;
  return std::make_shared<AttentionRecord>(std::move(record));
}

PyCandidate candidate_of(std::string text, const Hypothesis& hypothesis, SharedRecord record) {
  return {.text = std::move(text),
          .score = hypothesis.score,
          .log_probability = hypothesis.log_probability,
          .ended = hypothesis.finished,
          .record = std::move(record)};
}

class Model {
 public:
  Model(std::vector<std::string> folders, const TranslatorOptions& options) : folder_(folders.front()) {
    task_ = task_of_model(folder_);
    const PredictorOptions plain{.device = options.device, .precision = options.precision};
    if (is_text_to_text(task_)) {
      engine_ = std::make_shared<const Translator>(folders, options);
      return;
    }
    check(folders.size() == 1, "load: expected one model of the task {}, got {}", task_, folders.size());
    if (task_ == "classify") engine_ = Classifier(folder_, plain);
    if (task_ == "classify-images") engine_ = ImageClassifier(folder_, plain);
    if (task_ == "answer") engine_ = Reader(folder_, plain);
    if (task_ == "caption") engine_ = Captioner(folder_, plain);
    check(!std::holds_alternative<std::monostate>(engine_), "{}: models of the task {} cannot be used from Python",
          folder_, task_);
  }

  const std::string& folder() const { return folder_; }
  const std::string& task() const { return task_; }
  std::vector<std::string> labels() const {
    if (const auto* pictures = std::get_if<ImageClassifier>(&engine_)) return pictures->labels();
    return as<Classifier>("labels").labels();
  }

  py::object translate(const py::object& argument, bool record, py::kwargs options) const {
    const Translator& translator = as_translator("translate");
    const Texts texts = texts_of(argument, "translate");
    const Capture capture = capture_of(options, record, "translate");
    SearchOptions search = search_of(default_search(translator.model().config), options, "translate");
    std::vector<PyTranslation> results = translated(translator, texts.list, search, capture);
    return returned(results, texts.single);
  }

  py::object score(const py::object& source, const py::object& target, bool record, py::kwargs options) const {
    const Translator& translator = as_translator("score");
    const Texts sources = texts_of(source, "score"), targets = texts_of(target, "score");
    const Capture capture = capture_of(options, record, "score");
    refuse(options, "score");
    check(sources.list.size() == targets.list.size(), "score: expected a target for each of {} sources, got {}",
          sources.list.size(), targets.list.size());
    std::vector<PyScore> results = scored(translator, sources.list, targets.list, capture);
    return returned(results, sources.single && targets.single);
  }

  py::object classify(const py::object& argument, bool record) const {
    if (const auto* pictures = std::get_if<ImageClassifier>(&engine_))
      return classify_pictures(*pictures, argument, record);
    const Classifier& classifier = as<Classifier>("classify");
    const Texts texts = texts_of(argument, "classify");
    std::vector<PyClassification> results;
    {
      const Working working;
      for (Classification& c : classifier.classify(texts.list, {.capture_weights = record}, interruptible())) {
        PyClassification& result = results.emplace_back(std::move(c.classes), c.tokens, c.truncated);
        if (c.record) result.record = shared(std::move(*c.record), results.size() - 1, 0, "");
      }
    }
    return returned(results, texts.single);
  }

  py::object answer(const std::string& passage, const py::object& argument, int64_t nbest, bool record) const {
    const Reader& reader = as<Reader>("answer");
    const Texts questions = texts_of(argument, "answer");
    std::vector<PyReading> results;
    {
      const Working working;
      std::vector<PassageQuestion> asked;
      for (const std::string& question : questions.list) asked.push_back({passage, question});
      for (Reading& r : reader.answer(asked, {.nbest = nbest, .capture_weights = record}, interruptible())) {
        PyReading& result = results.emplace_back(std::move(r.answers), r.windows, r.question_truncated);
        if (r.record) result.record = shared(std::move(*r.record), results.size() - 1, 0, "");
      }
    }
    return returned(results, questions.single);
  }

  py::object caption(const py::object& argument, bool record, py::kwargs options) const {
    const Captioner& captioner = as<Captioner>("caption");
    const Capture capture = capture_of(options, record, "caption");
    SearchOptions search = search_of(captioner.default_search(), options, "caption");
    set_capture(search, capture);
    Pictures pictures = pictures_of(argument, captioner.size(), record, "caption");
    std::vector<PyCaption> results;
    {
      const Working working;
      std::vector<Image> images;
      for (Picture& picture : pictures.list) images.push_back(std::move(picture.image));
      for (Caption& caption : captioner.caption(images, search, interruptible())) {
        results.push_back(caption_of(captioner, caption, pictures.list[results.size()], results.size(), search));
      }
    }
    return returned(results, pictures.single);
  }

  // The records of what the method of the task would return.
  py::object attend(const py::object& first, const py::object& second, py::kwargs options) const {
    py::object results;
    if (std::holds_alternative<Reader>(engine_)) {
      if (second.is_none()) throw py::type_error("attend: expected a passage and a question");
      refuse(options, "attend");
      if (!py::isinstance<py::str>(first)) throw py::type_error("attend: expected a string as the passage");
      results = answer(first.cast<std::string>(), second, 1, true);
    } else if (std::holds_alternative<std::shared_ptr<const Translator>>(engine_)) {
      results = second.is_none() ? translate(first, true, options) : score(first, second, true, options);
    } else {
      if (!second.is_none())
        throw py::type_error(fmt::format("attend: expected one argument for a model of the task {}", task_));
      if (std::holds_alternative<Captioner>(engine_)) {
        results = caption(first, true, options);
      } else {
        refuse(options, "attend");
        results = classify(first, true);
      }
    }
    if (!py::isinstance<py::list>(results)) return results.attr("record");
    py::list records;
    for (const py::handle result : results) records.append(result.attr("record"));
    return records;
  }

 private:
  template <class Engine> const Engine& as(std::string_view method) const {
    const auto* engine = std::get_if<Engine>(&engine_);
    if (engine == nullptr) fail_task(method);
    return *engine;
  }
  const Translator& as_translator(std::string_view method) const {
    return *as<std::shared_ptr<const Translator>>(method);
  }
  [[noreturn]] void fail_task(std::string_view method) const {
    const std::string_view own = is_text_to_text(task_)                    ? "translate"
                                 : task_ == "answer" || task_ == "caption" ? std::string_view(task_)
                                                                           : "classify";
    fail("{}: {}: expected a model of another task, got one of the task {}, which has {}() and attend()", method,
         folder_, task_, own);
  }
  static void refuse(const py::kwargs& options, std::string_view function) {
    for (const auto& [name, value] : options) {
      throw py::type_error(
          fmt::format("{}: got an unexpected keyword argument {}", function, name.cast<std::string>()));
    }
  }

  static void set_capture(SearchOptions& search, const Capture& capture) {
    search.capture_weights = capture.record;
    search.capture_scores = capture.scores;
    search.alternatives = capture.alternatives;
  }

  static std::vector<PyTranslation> translated(const Translator& translator, const std::vector<std::string>& texts,
                                               SearchOptions& search, const Capture& capture) {
    const Working working;
    set_capture(search, capture);
    const std::vector<SharedLine> lines =
        translator.tokenise_source(texts, capture.record ? Offsets::kTokens : Offsets::kNone);
    std::vector<PyTranslation> results;
    results.reserve(texts.size());
    for (Translation& translation : translator.translate(lines, search, interruptible())) {
      PyTranslation result{.source_tokens = translation.source_tokens,
                           .unknown_tokens = translation.unknown_tokens,
                           .truncated = translation.truncated};
      const size_t line = results.size();
      for (Translation::Candidate& c : translation.candidates) {
        SharedRecord record;
        if (capture.record) {
          record = shared(translator.record(*lines[line], c.hypothesis), line, result.candidates.size(),
                          search_name(search));
        }
        result.candidates.push_back(candidate_of(std::move(c.text), c.hypothesis, std::move(record)));
      }
      results.push_back(std::move(result));
    }
    return results;
  }

  static std::vector<PyScore> scored(const Translator& translator, const std::vector<std::string>& sources,
                                     const std::vector<std::string>& targets, const Capture& capture) {
    const Working working;
    const std::vector<SharedLine> lines =
        translator.tokenise_source(sources, capture.record ? Offsets::kTokens : Offsets::kNone);
    const ScoreOptions options{
        .capture_weights = capture.record, .capture_scores = capture.scores, .alternatives = capture.alternatives};
    std::vector<PyScore> results;
    for (Hypothesis& found : translator.score(lines, translator.tokenise_target(targets), options, interruptible())) {
      SharedRecord record;
      if (capture.record)
        record = shared(translator.record(*lines[results.size()], found), results.size(), 0, "forced");
      results.push_back({found.log_probability, std::move(found.log_probs), std::move(record)});
    }
    return results;
  }

  static PyCaption caption_of(const Captioner& captioner, Caption& caption, const Picture& picture, size_t line,
                              const SearchOptions& search) {
    PyCaption result;
    std::optional<RecordImage> image;
    if (search.capture_weights) image = captioner.record_image(picture.shown, picture.name);
    for (Caption::Candidate& c : caption.candidates) {
      SharedRecord record;
      if (image)
        record = shared(captioner.record(*image, c.hypothesis), line, result.candidates.size(), search_name(search));
      result.candidates.push_back(candidate_of(std::move(c.text), c.hypothesis, std::move(record)));
    }
    return result;
  }

  static py::object classify_pictures(const ImageClassifier& classifier, const py::object& argument, bool record) {
    Pictures pictures = pictures_of(argument, classifier.size(), record, "classify");
    std::vector<PyClassification> results;
    {
      const Working working;
      std::vector<Image> images;
      for (Picture& picture : pictures.list) images.push_back(std::move(picture.image));
      for (Classification& c : classifier.classify(images, {.capture_weights = record}, interruptible())) {
        const Picture& picture = pictures.list[results.size()];
        PyClassification& result = results.emplace_back(std::move(c.classes));
        if (!c.record) continue;
        c.record->image = classifier.record_image(picture.shown, picture.name);
        result.record = shared(std::move(*c.record), results.size() - 1, 0, "");
      }
    }
    return returned(results, pictures.single);
  }

  std::string folder_, task_;
  std::variant<std::monostate, std::shared_ptr<const Translator>, Classifier, ImageClassifier, Reader, Captioner>
      engine_;
};

std::shared_ptr<Model> load(const py::object& names, const std::string& device, const std::string& precision,
                            int64_t max_source) {
  std::vector<std::string> folders;
  if (py::isinstance<py::str>(names) || py::hasattr(names, "__fspath__")) {
    folders.push_back(path_of(names));
  } else {
    if (!py::isinstance<py::iterable>(names))
      throw py::type_error("load: expected the name or folder of a model, or several");
    for (const py::handle name : names) folders.push_back(path_of(name));
  }
  check(!folders.empty(), "load: expected the name or folder of a model, got none");
  TranslatorOptions options;
  Fields fields = fields_of(options);
  fields.find("device").set(device);
  fields.find("precision").set(precision);
  fields.find("max_source").set(max_source);
  const Working working;
  for (std::string& folder : folders) folder = find_model(folder);
  return std::make_shared<Model>(std::move(folders), options);
}

}  // namespace

void add_models(py::module_& module) {
  const TranslatorOptions defaults;
  py::class_<Model, std::shared_ptr<Model>>(module, "Model",
                                            "A trained model; several threads may use it at the same time.")
      .def_property_readonly("folder", &Model::folder)
      .def_property_readonly("task", &Model::task, "As in a recipe: sequence, classify, answer, caption ...")
      .def_property_readonly("labels", &Model::labels, "The classes of a classifier.")
      .def(
          "translate", &Model::translate, py::arg("texts"), py::arg("record") = false,
          "Text to text: a Translation for a string, a list of them for a sequence.\n\n"
          "Search: beam, nbest, length_penalty, coverage_penalty, no_repeat_ngram, min_length, max_length, max_ratio,\n"
          "allow_unknown, sample, temperature, top_k, top_p, seed. record=True adds the attention record of each\n"
          "candidate, with alternatives (of each step, so many) and scores (before softmax).")
      .def("score", &Model::score, py::arg("sources"), py::arg("targets"), py::arg("record") = false,
           "The log-probability of given targets, as Score.")
      .def("classify", &Model::classify, py::arg("inputs"), py::arg("record") = false,
           "The classes of texts, or of pictures: files or arrays of uint8 (height, width, 3).")
      .def("answer", &Model::answer, py::arg("passage"), py::arg("questions"), py::arg("nbest") = 1,
           py::arg("record") = false, "The answers to questions about a passage.")
      .def("caption", &Model::caption, py::arg("images"), py::arg("record") = false,
           "Describe pictures: files or arrays of uint8 (height, width, 3). Search as in translate().")
      .def("attend", &Model::attend, py::arg("inputs"), py::arg("others") = py::none(),
           "The attention records of what the model's own method returns: of texts, of texts and given targets, of a\n"
           "passage and questions, of pictures. Options as in that method.")
      .def("__repr__", [](const Model& m) { return fmt::format("<fovea.Model {}, task {}>", m.folder(), m.task()); });
  module.def("load", load, py::arg("model"), py::kw_only(), py::arg("device") = defaults.device,
             py::arg("precision") = defaults.precision, py::arg("max_source") = defaults.max_source,
             "Load a model: a folder or the name of a shipped model; several folders are an ensemble.");
}

}  // namespace fovea::python
