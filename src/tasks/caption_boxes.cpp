#include "tasks/caption_boxes.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/error.h"
#include "text/words.h"

namespace fovea {

namespace {

// The part of [from, to) that lies in [begin, end), as a share of the latter.
double overlap(double from, double to, double begin, double end) {
  return std::max(0.0, std::min(to, end) - std::max(from, begin)) / (end - begin);
}

}  // namespace

std::vector<float> covered_cells(const std::vector<Box>& boxes, int64_t rows, int64_t columns) {
  std::vector<float> shares(static_cast<size_t>(rows * columns));
  const auto height = 1 / static_cast<double>(rows), width = 1 / static_cast<double>(columns);
  for (const Box& box : boxes) {
    for (int64_t cell = 0; cell < rows * columns; ++cell) {
      const auto y = static_cast<double>(cell / columns), x = static_cast<double>(cell % columns);
      const double share =
          overlap(box.y0, box.y1, y * height, (y + 1) * height) * overlap(box.x0, box.x1, x * width, (x + 1) * width);
      float& most = shares[static_cast<size_t>(cell)];
      most = std::max(most, static_cast<float>(share));
    }
  }
  return shares;
}

std::vector<Box> changed_boxes(const std::vector<Box>& boxes, const Augmentation& change, int64_t width,
                               int64_t height) {
  const auto place = [](double at, int64_t size, int64_t begin, int64_t kept) {
    return std::clamp((at * static_cast<double>(size) - static_cast<double>(begin)) / static_cast<double>(kept), 0.0,
                      1.0);
  };
  std::vector<Box> changed;
  for (const Box& box : boxes) {
    Box b;
    b.x0 = place(box.x0, width, change.left, change.width);
    b.x1 = place(box.x1, width, change.left, change.width);
    b.y0 = place(box.y0, height, change.top, change.height);
    b.y1 = place(box.y1, height, change.top, change.height);
    if (change.flip) b.x0 = std::exchange(b.x1, 1 - b.x0), b.x0 = 1 - b.x0;
    if (b.x0 < b.x1 && b.y0 < b.y1) changed.push_back(b);
  }
  return changed;
}

CaptionBoxes::CaptionBoxes(const std::string& path, const ParallelLines& lines, const ParallelCorpus& corpus,
                           const Vocabulary& vocabulary) {
  std::map<std::pair<std::string, std::string>, std::vector<BoxedPhrase>> known;
  for (BoxedImage& image : read_boxes(path)) {
    for (BoxedCaption& caption : image.captions) {
      known[{image.image, std::move(caption.text)}] = std::move(caption.phrases);
    }
  }
  phrases_.resize(static_cast<size_t>(corpus.size()));
  for (size_t i = 0; i < phrases_.size(); ++i) {
    const auto line = static_cast<size_t>(corpus.lines[i]);
    const std::string& caption = lines.target[line];
    const auto found = known.find({lines.source[line], caption});
    if (found == known.end()) continue;
    ++captions_;
    std::vector<size_t> begins;
    for (const Token& token : vocabulary.tokenise(caption)) begins.push_back(token.begin);
    const std::vector<int64_t> words = word_indices(caption, begins);
    for (BoxedPhrase& phrase : found->second) {
      // The tokens of a text have ascending words.
      const auto token = [&](int64_t word) {
        return std::lower_bound(words.begin(), words.end(), word) - words.begin();
      };
      const Phrase tokens{.from = token(phrase.from), .to = token(phrase.to), .boxes = phrase.boxes};
      if (tokens.from < tokens.to) phrases_[i].push_back(tokens);
    }
  }
  check(captions_ > 0, "{}: expected boxes of the captions in data.train, with the same pictures and texts, got none",
        path);
}

Tensor CaptionBoxes::weights(std::span<const int64_t> captions, int64_t target_time, int64_t rows, int64_t columns,
                             int64_t delay, std::span<const Augmentation> changes, int64_t side, Device device) const {
  const int64_t cells = rows * columns;
  std::vector<float> weights(captions.size() * static_cast<size_t>(target_time * cells));
  for (size_t b = 0; b < captions.size(); ++b) {
    for (const Phrase& phrase : phrases_[static_cast<size_t>(captions[b])]) {
      std::vector<float> shares = covered_cells(
          changes.empty() ? phrase.boxes : changed_boxes(phrase.boxes, changes[b], side, side), rows, columns);
      float total = 0;
      for (const float share : shares) total += share;
      if (total <= 0) continue;
      for (int64_t t = phrase.from + delay; t < std::min(phrase.to + delay, target_time); ++t) {
        float* row =
            &weights[(b * static_cast<size_t>(target_time) + static_cast<size_t>(t)) * static_cast<size_t>(cells)];
        for (int64_t c = 0; c < cells; ++c) row[c] = shares[static_cast<size_t>(c)] / total;
      }
    }
  }
  return from_host(weights, {std::ssize(captions), 1, target_time, cells}, device);
}

}  // namespace fovea
