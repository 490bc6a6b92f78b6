// CIDEr-D (Vedantam et al. 2015): the cosine between the tf-idf vectors of a caption and of each reference, with the
// caption's counts clipped to the reference's and exp(-(l - l')² / 2σ²), σ = 6, for the difference of their lengths;
// the mean over references and n = 1..4, times 10. The idf of an n-gram is log(images) - log(images in whose references
// it occurs, at least 1). The scores equal those of coco-caption.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace fovea {

inline constexpr size_t kCiderOrder = 4;

using CaptionWords = std::vector<std::string>;    // of one caption, as caption_words() returns them
using ImageCaptions = std::vector<CaptionWords>;  // the references of one image
ImageCaptions image_captions(std::span<const std::string> references);

// Scores captions against the references of their images; the tf-idf vectors of all references are computed once. It
// does not change after its construction, so any number of threads may call score().
class CiderScorer {
 public:
  // The document frequencies are those of the same references.
  explicit CiderScorer(std::span<const ImageCaptions> references) : CiderScorer(references, references) {}
  // The document frequencies are those of the captions of other images, for instance of the training part.
  CiderScorer(std::span<const ImageCaptions> references, std::span<const ImageCaptions> documents);

  int64_t images() const { return std::ssize(references_); }
  // The score of a caption of image `image`, from 0 to 10.
  double score(size_t image, std::span<const std::string> words) const;
  double score(size_t image, std::string_view caption) const;

 private:
  struct Weight {
    int32_t ngram;
    double value;
  };
  struct Vector {
    std::array<std::vector<Weight>, kCiderOrder> weights;  // by n, sorted by n-gram
    std::array<double, kCiderOrder> norms{};
    int64_t length = 0;  // in pairs of words, as coco-caption counts it
  };
  // Finds views in a map of strings.
  struct Hash : std::hash<std::u32string_view> {
    using is_transparent = void;
  };
  struct Ngram {
    int32_t id;
    int64_t documents;  // images in whose captions it occurs
  };

  char32_t add_word(const std::string& word);
  void add_documents(std::span<const ImageCaptions> documents);
  Vector vector_of(std::u32string_view text) const;
  std::u32string encode(std::span<const std::string> words) const;
  static double similarity(const Vector& caption, const Vector& reference);

  double log_images_ = 0;
  std::unordered_map<std::string, char32_t> words_;
  std::unordered_map<std::u32string, Ngram, Hash, std::equal_to<>> ngrams_;
  std::vector<std::vector<Vector>> references_;  // of each image
};

}  // namespace fovea
