#include "fovea/view_captions.h"

#include <filesystem>

#include "base/error.h"
#include "decode/options.h"
#include "tasks/captioner.h"
#include "tasks/image_classifier.h"
#include "tasks/pictures.h"

namespace fovea::app {

void each_captioned(const ViewFlags& flags, const std::function<void(AttentionRecord&)>& take) {
  check(!flags.what.empty() && flags.input.empty(),
        "view: expected pictures as arguments for a model of the task caption");
  const PredictorFlags predictor = flags.for_predictor();
  const Captioner captioner(predictor.prepare("caption"), predictor.options);
  int64_t line = 0;
  for (const std::string& file : flags.what) {
    // What fovea caption reads, and what is shown.
    const Image image = read_image(file, captioner.size()), shown = read_image(file, RecordImage::kMaxSide);
    Hypothesis hypothesis;
    std::string how = "forced";
    if (flags.target.empty()) {
      SearchOptions search = flags.search;
      search.capture_weights = true;
      search.capture_scores = flags.scores;
      search.alternatives = flags.alternatives;
      how = search_name(search);
      hypothesis = captioner.caption({&image, 1}, search).front().candidates.front().hypothesis;
    } else {
      const Pictures pictures(captioner.model(), {&image, 1});
      const int32_t number = 0;
      hypothesis =
          captioner
              .score(pictures, {&number, 1}, {&flags.target, 1},
                     {.capture_weights = true, .capture_scores = flags.scores, .alternatives = flags.alternatives})
              .front();
    }
    AttentionRecord record = captioner.record(shown, std::filesystem::path(file).filename().string(), hypothesis);
    record.line = ++line;
    record.search = how;
    take(record);
  }
}

void each_classified_picture(const ViewFlags& flags, const std::function<void(AttentionRecord&)>& take) {
  check(!flags.what.empty() && flags.input.empty(),
        "view: expected pictures as arguments for a model of the task classify-images");
  check(flags.target.empty(), "view: --target: expected none, because a classifier writes no text");
  check(!flags.scores, "--scores: expected a model that writes text; a classifier's record has weights only");
  const PredictorFlags predictor = flags.for_predictor();
  const ImageClassifier classifier(predictor.prepare("classify-images"), predictor.options);
  int64_t line = 0;
  for (const std::string& file : flags.what) {
    const Image image = read_image(file, classifier.size()), shown = read_image(file, RecordImage::kMaxSide);
    Classification result = std::move(classifier.classify({&image, 1}, {.capture_weights = true}).front());
    result.record->line = ++line;
    result.record->image = classifier.record_image(shown, std::filesystem::path(file).filename().string());
    take(*result.record);
  }
}

}  // namespace fovea::app
