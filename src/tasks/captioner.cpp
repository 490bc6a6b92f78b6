#include "tasks/captioner.h"

#include <algorithm>
#include <numeric>

#include "base/error.h"
#include "decode/options.h"
#include "decode/record.h"
#include "decode/translator.h"
#include "evaluate/pointing.h"
#include "ops/ops.h"
#include "store/caption_folder.h"
#include "tasks/pictures.h"
#include "text/words.h"

namespace fovea {

namespace {

constexpr int64_t kBatch = 32;  // pictures that are decoded at a time

// A batch has so many pictures, whose sources are one number each.
BatchOptions batch_options() {
  BatchOptions options;
  options.tokens = 0;
  options.sentences = kBatch;
  options.end_source = false;
  options.shuffle = false;
  return options;
}

std::vector<std::span<const int32_t>> rows_of(std::span<const int32_t> numbers) {
  std::vector<std::span<const int32_t>> rows;
  for (const int32_t& number : numbers) rows.emplace_back(&number, 1);
  return rows;
}

std::vector<int32_t> all_numbers(size_t count) {
  std::vector<int32_t> numbers(count);
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

}  // namespace

struct Captioner::State {
  LoadedCaptioner model;
  Device device;
  Precision precision;
  bool constant_weights = false;
};

Captioner::Captioner(State state) : state_(std::make_shared<const State>(std::move(state))) {}

Captioner::Captioner(const std::string& folder, const PredictorOptions& options)
    : Captioner(State{load_captioner(folder, device_named(options.device)), device_named(options.device),
                      precision_named(options.precision, device_named(options.device)), true}) {}

Captioner::Captioner(LoadedCaptioner model, Device device, Precision precision)
    : Captioner(State{std::move(model), device, precision}) {}

const LoadedCaptioner& Captioner::model() const { return state_->model; }
SearchOptions Captioner::default_search() const { return fovea::default_search(model().loaded.config); }
int64_t Captioner::size() const { return model().loaded.config.vision.size; }

std::vector<Caption> Captioner::caption(std::span<const Image> images, const SearchOptions& search,
                                        const std::function<void(int64_t)>& done) const {
  const PrecisionScope precision(state_->precision);
  const Pictures pictures(model(), images);
  return caption(pictures, all_numbers(images.size()), search, done);
}

std::vector<Caption> Captioner::caption(const ImageSource& images, std::span<const int32_t> numbers,
                                        const SearchOptions& given, const std::function<void(int64_t)>& done) const {
  const PrecisionScope precision(state_->precision);
  SearchOptions options = given;
  options.images = &images;
  options.constant_weights = state_->constant_weights;
  const std::vector<std::span<const int32_t>> rows = rows_of(numbers);
  const EncoderDecoder* decoder = model().loaded.model.get();
  std::vector<Caption> captions;
  for (std::vector<Hypothesis>& found :
       search({&decoder, 1}, CorpusView(rows), batch_options(), options, state_->device, done)) {
    Caption& caption = captions.emplace_back();
    for (Hypothesis& hypothesis : found) {
      std::string text = model().loaded.target->decode(hypothesis.ids);
      caption.candidates.push_back({std::move(text), std::move(hypothesis)});
    }
  }
  return captions;
}

std::vector<Hypothesis> Captioner::score(const ImageSource& images, std::span<const int32_t> numbers,
                                         std::span<const std::string> captions, const ScoreOptions& given) const {
  check(numbers.size() == captions.size(), "caption: expected as many captions as pictures ({}), got {}",
        numbers.size(), captions.size());
  const PrecisionScope precision(state_->precision);
  ScoreOptions options = given;
  options.images = &images;
  std::vector<std::vector<int32_t>> ids;
  for (const std::string& caption : captions) ids.push_back(model().loaded.target->encode(caption));
  const std::vector<std::span<const int32_t>> rows = rows_of(numbers), targets(ids.begin(), ids.end());
  const EncoderDecoder* decoder = model().loaded.model.get();
  return fovea::score({&decoder, 1}, CorpusView(rows, targets), batch_options(), options, state_->device);
}

RecordImage Captioner::record_image(const Image& image, const std::string& name) const {
  return fovea::record_image(image, name, model().map_shape());
}

AttentionRecord Captioner::record(RecordImage image, const Hypothesis& hypothesis) const {
  AttentionRecord record = target_record({&model().loaded, 1}, hypothesis, *model().loaded.target);
  record.task = model().loaded.config.task;
  record.image = std::move(image);
  return record;
}

TokenAttention Captioner::token_attention(const std::string& caption, const Hypothesis& scored) const {
  TokenAttention attention{.rows = model().map_shape()[0], .columns = model().map_shape()[1]};
  std::vector<size_t> begins;
  for (const Token& token : model().loaded.target->tokenise(caption)) begins.push_back(token.begin);
  attention.words = word_indices(caption, begins);
  const auto tokens = static_cast<int64_t>(begins.size()), cells = attention.rows * attention.columns;
  attention.weights.resize(static_cast<size_t>(tokens * cells));
  float maps = 0;
  for (const HypothesisWeights& w : scored.weights) {
    if (w.kind == AttentionKind::kCross) maps += static_cast<float>(w.heads);
  }
  for (const HypothesisWeights& w : scored.weights) {
    if (w.kind != AttentionKind::kCross) continue;
    for (int64_t head = 0; head < w.heads; ++head) {
      for (int64_t t = 0; t < std::min(tokens, w.rows); ++t) {
        const float* row = &w.weights[static_cast<size_t>((head * w.rows + t) * w.columns)];
        for (int64_t c = 0; c < cells; ++c) attention.weights[static_cast<size_t>(t * cells + c)] += row[c] / maps;
      }
    }
  }
  return attention;
}

std::vector<std::string> Captioner::predict(std::span<const std::string> inputs) const {
  const Pictures pictures(model(), inputs);
  std::vector<std::string> texts;
  for (const Caption& c : caption(pictures, all_numbers(inputs.size()), {})) texts.push_back(c.text());
  return texts;
}

std::unique_ptr<Predictor> load_caption_predictor(const std::string& folder, const PredictorOptions& options) {
  return std::make_unique<Captioner>(folder, options);
}

}  // namespace fovea
