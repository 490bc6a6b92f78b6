// Describes pictures with a trained model.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "attention/record.h"
#include "decode/search.h"
#include "tasks/task.h"
#include "vision/image.h"

namespace fovea {

struct LoadedCaptioner;  // store/caption_folder.h
struct TokenAttention;   // evaluate/pointing.h

struct Caption {
  struct Candidate {
    std::string text;
    Hypothesis hypothesis;
  };
  std::vector<Candidate> candidates;  // best first

  const std::string& text() const { return candidates.front().text; }
};

// Several threads may use a Captioner at the same time.
class Captioner final : public Predictor {
 public:
  explicit Captioner(const std::string& folder, const PredictorOptions& options = {});
  // The weights are read anew at each call: the model may be trained in between.
  Captioner(LoadedCaptioner model, Device device, Precision precision);

  // One caption for each picture. `done` receives the number of finished pictures.
  std::vector<Caption> caption(std::span<const Image> images, const SearchOptions& search,
                               const std::function<void(int64_t)>& done = {}) const;
  // The same of pictures that are read already, by their numbers.
  std::vector<Caption> caption(const ImageSource& images, std::span<const int32_t> numbers, const SearchOptions& search,
                               const std::function<void(int64_t)>& done = {}) const;
  // The probability of a given caption for each picture, with its attention if that is asked for.
  std::vector<Hypothesis> score(const ImageSource& images, std::span<const int32_t> numbers,
                                std::span<const std::string> captions, const ScoreOptions& options = {}) const;
  // The attention record of a hypothesis that has captured its weights. The caller fills in what it alone knows: line,
  // rank, search.
  AttentionRecord record(const Image& image, const std::string& name, const Hypothesis& hypothesis) const {
    return record(record_image(image, name), hypothesis);
  }
  // The same in two parts: the records of several hypotheses show one picture.
  RecordImage record_image(const Image& image, const std::string& name) const;
  AttentionRecord record(RecordImage image, const Hypothesis& hypothesis) const;
  // The attention of each token of a caption, the mean over layers and heads, for the pointing game.
  TokenAttention token_attention(const std::string& caption, const Hypothesis& scored) const;
  // Inputs are files of pictures.
  std::vector<std::string> predict(std::span<const std::string> inputs) const override;

  const LoadedCaptioner& model() const;
  SearchOptions default_search() const;  // as the model's folder stores it, or of the task
  int64_t size() const;  // height and width of a picture that are read; a larger file may be decoded for this size

 private:
  struct State;
  explicit Captioner(State state);
  std::shared_ptr<const State> state_;
};

std::unique_ptr<Predictor> load_caption_predictor(const std::string& folder, const PredictorOptions& options);

}  // namespace fovea
