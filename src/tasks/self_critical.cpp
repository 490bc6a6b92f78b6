#include "tasks/self_critical.h"

#include <numeric>

#include "evaluate/caption_words.h"

namespace fovea {

namespace {

constexpr const char* kEndWord = "</s>";

// Excludes the tokens that search never takes from the distribution: otherwise captions that are made less likely would
// make those more likely, without end.
Tensor bias_of(int64_t vocabulary, bool allow_unknown, Device device) {
  constexpr float kNever = -1e4f;
  std::vector<float> bias(static_cast<size_t>(vocabulary));
  bias[kPad] = bias[kBegin] = kNever;
  if (!allow_unknown) bias[kUnknown] = kNever;
  const ArenaScope heap(nullptr);  // captured CUDA graphs read it at its address
  return from_host(bias, {vocabulary}, device);
}

// The training captions of each picture, in the order of their first captions; `images` has the place of each picture.
std::vector<ImageCaptions> references_of(const CaptionData& data, std::vector<size_t>& images) {
  const ParallelCorpus& train = data.train();
  std::vector<ImageCaptions> references;
  std::vector<bool> seen(data.files().size());
  images.resize(seen.size());
  for (int64_t i = 0; i < train.size(); ++i) {
    const auto picture = static_cast<size_t>(train.source[i].front());
    if (!seen[picture]) {
      seen[picture] = true;
      images[picture] = references.size();
      references.emplace_back();
    }
    CaptionWords words = caption_words(data.train_caption(i));
    words.emplace_back(kEndWord);
    references[images[picture]].push_back(std::move(words));
  }
  return references;
}

SearchOptions one_caption(SearchOptions search) {
  search.beam = search.nbest = 1;
  search.sample = false;
  return search;
}

}  // namespace

SelfCritical::SelfCritical(const CaptionData& data, const EncoderDecoder& model, const SearchOptions& search,
                           int64_t seed, Device device)
    : data_(data),
      model_(model),
      greedy_(one_caption(search)),
      sampling_(greedy_),
      device_(device),
      scorer_(references_of(data, images_)),
      logit_bias_(bias_of(data.target()->size(), search.allow_unknown, device)) {
  sampling_.sample = true;
  sampling_.seed = seed;
  options_.tokens = 0;
  options_.end_source = options_.shuffle = false;
}

std::vector<Hypothesis> SelfCritical::captions_of(const std::vector<int32_t>& pictures, SearchOptions options) const {
  options.images = &data_.pictures();
  std::vector<std::span<const int32_t>> rows;
  for (const int32_t& picture : pictures) rows.emplace_back(&picture, 1);
  BatchOptions batches = options_;
  batches.sentences = std::ssize(rows);
  const EncoderDecoder* model = &model_;
  std::vector<Hypothesis> captions;
  for (std::vector<Hypothesis>& found : search({&model, 1}, CorpusView(rows), batches, options, device_)) {
    captions.push_back(std::move(found.front()));
  }
  return captions;
}

double SelfCritical::score(int32_t picture, const Hypothesis& caption) const {
  CaptionWords words = caption_words(data_.target()->decode(caption.ids));
  if (caption.finished) words.emplace_back(kEndWord);
  return scorer_.score(images_[static_cast<size_t>(picture)], words);
}

void SelfCritical::next(int64_t number) {
  const std::vector<int32_t> pictures = data_.batch_pictures();
  SearchOptions sampling = sampling_;
  sampling.seed += number;
  const std::vector<Hypothesis> greedy = captions_of(pictures, greedy_), sampled = captions_of(pictures, sampling);
  sampled_ = {};
  advantages_.clear();
  finished_.clear();
  tokens_ = 0;
  for (size_t i = 0; i < pictures.size(); ++i) {
    sampled_.source.append({&pictures[i], 1});
    sampled_.target.append(sampled[i].ids);
    finished_.push_back(sampled[i].finished);
    advantages_.push_back(static_cast<float>(score(pictures[i], sampled[i]) - score(pictures[i], greedy[i])));
    tokens_ += std::ssize(sampled[i].ids) + 1;
  }
  rows_ = {};
  rows_.rows.resize(advantages_.size());
  std::iota(rows_.rows.begin(), rows_.rows.end(), 0);
  rows_.padded_tokens = padded_tokens(sampled_, rows_.rows, options_);
}

Batch SelfCritical::part(int64_t index) const {
  Batch batch = make_batch(sampled_, rows_.part(index), options_, device_);
  add_images(batch, data_.pictures());
  const int64_t steps = batch.target_out.dim(0), captions = batch.target_out.dim(1);
  std::vector<float> weights(static_cast<size_t>(steps * captions));
  for (int64_t b = 0; b < captions; ++b) {
    const auto row = static_cast<size_t>(batch.rows[static_cast<size_t>(b)]);
    // The end mark of a caption that reached the maximum length was not sampled.
    const int64_t sampled = sampled_.target.length(static_cast<int64_t>(row)) + (finished_[row] ? 1 : 0);
    for (int64_t t = 0; t < sampled; ++t) weights[static_cast<size_t>(t * captions + b)] = advantages_[row];
  }
  batch.target_weights = from_host(weights, {steps, captions}, device_);
  batch.logit_bias = logit_bias_;
  batch.token_share = from_host(std::vector{1.0f / static_cast<float>(tokens_)}, {1}, device_);
  return batch;
}

}  // namespace fovea
