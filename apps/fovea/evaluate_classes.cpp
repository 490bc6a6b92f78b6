#include "fovea/evaluate_classes.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/thousands.h"
#include "evaluate/classification.h"
#include "fovea/commands.h"
#include "fovea/console.h"
#include "fovea/output.h"
#include "store/classifier_folder.h"
#include "tasks/image_classifier.h"
#include "tasks/image_classify_data.h"
#include "text/labelled_text.h"

namespace fovea::app {

namespace {

using Json = nlohmann::ordered_json;

Json as_json(const ClassificationReport& report, std::string_view what) {
  Json classes = Json::array(), confusion = Json::array();
  for (size_t t = 0; t < report.classes.size(); ++t) {
    const ClassQuality& c = report.classes[t];
    classes.push_back({{"label", c.label},
                       {"precision", c.precision()},
                       {"recall", c.recall()},
                       {"f1", c.f1()},
                       {"support", c.support}});
    Json row = Json::array();
    for (size_t p = 0; p < report.classes.size(); ++p) row.push_back(report.confused(t, p));
    confusion.push_back(std::move(row));
  }
  return {{fmt::format("{}s", what), report.total}, {"accuracy", report.accuracy()},
          {"macro_f1", report.macro_f1()},          {"calibration_error", report.calibration_error},
          {"unseen_labels", report.unseen},         {"classes", std::move(classes)},
          {"confusion", std::move(confusion)}};
}

// Writes the predicted labels and prints the report. `what` is the name of an example.
int report_classes(const ClassTest& test, const LabelledText& text, const std::vector<Classification>& results,
                   const std::vector<std::string>& labels, std::string_view what, Console& console) {
  const auto class_of = [&](const std::string& label) {
    const auto found = std::find(labels.begin(), labels.end(), label);
    return found == labels.end() ? kUnseenClass : static_cast<int32_t>(found - labels.begin());
  };
  Output output(test.output.empty() ? "/dev/null" : test.output);
  std::vector<ClassOutcome> outcomes;
  bool warned = false;
  for (size_t i = 0; i < results.size(); ++i) {
    const ClassProbability& best = results[i].classes.front();
    outcomes.push_back({class_of(text.labels[i]), class_of(best.label), best.probability});
    output.write(fmt::format("{}\t{:.4f}\n", best.label, best.probability));
    if (outcomes.back().truth == kUnseenClass && !warned) {
      warned = true;
      console.line(fmt::format("{}: warning: the model does not know the label {}; such {}s count as wrong",
                               text.lines[i] > 0 ? fmt::format("{}:{}", test.source, text.lines[i]) : text.texts[i],
                               text.labels[i], what));
    }
  }
  output.commit();
  const ClassificationReport report = classification_report(outcomes, labels);
  fmt::print("{}", test.json ? as_json(report, what).dump(2) + "\n" : report.text(what));
  return kDone;
}

}  // namespace

int evaluate_classes(const ClassTest& test, const PredictorFlags& flags) {
  check(!test.source.empty(), "evaluate: a classifier needs --source, a file with labels and texts");
  const Classifier classifier(flags.prepare("classify"), flags.options);
  const LabelledText text = read_labelled(test.source, classifier.model().config.text);
  Console console(stderr);
  const std::vector<Classification> results = classifier.classify(text.texts, {}, [&](int64_t done) {
    console.live(fmt::format("classified {} of {} texts", thousands(done), thousands(text.size())));
  });
  console.finish();
  return report_classes(test, text, results, classifier.labels(), "text", console);
}

int evaluate_image_classes(const ClassTest& test, const std::string& images, const PredictorFlags& flags) {
  check(!test.source.empty(),
        "evaluate: a classifier of pictures needs --source, a folder with a folder for each label, or a file");
  const ImageClassifier classifier(flags.prepare("classify-images"), flags.options);
  const LabelledText text = read_labelled_images(test.source, images, classifier.model().config.text);
  Console console(stderr);
  const std::vector<Classification> results = classifier.classify_files(text.texts, [&](int64_t done) {
    console.live(fmt::format("classified {} of {} pictures", thousands(done), thousands(text.size())));
  });
  console.finish();
  return report_classes(test, text, results, classifier.labels(), "picture", console);
}

}  // namespace fovea::app
