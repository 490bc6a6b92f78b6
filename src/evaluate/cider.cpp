#include "evaluate/cider.h"

#include <algorithm>
#include <cmath>
#include <unordered_set>

#include "base/error.h"
#include "evaluate/caption_words.h"
#include "evaluate/ngrams.h"

namespace fovea {

namespace {

constexpr double kSigma = 6;
constexpr int32_t kUnseen = -1;  // an n-gram that is in no reference and in no document

}  // namespace

ImageCaptions image_captions(std::span<const std::string> references) {
  ImageCaptions captions;
  for (const std::string& reference : references) captions.push_back(caption_words(reference));
  return captions;
}

CiderScorer::CiderScorer(std::span<const ImageCaptions> references, std::span<const ImageCaptions> documents) {
  check(!documents.empty(), "CIDEr-D: expected captions of at least one image for the document frequencies, got none");
  log_images_ = std::log(static_cast<double>(documents.size()));
  add_documents(documents);
  for (const ImageCaptions& captions : references) {
    check(!captions.empty(), "CIDEr-D: expected a reference for image {}, got none", references_.size() + 1);
    std::vector<Vector>& vectors = references_.emplace_back();
    for (const CaptionWords& words : captions) {
      std::u32string text;
      for (const std::string& word : words) text += add_word(word);
      for (size_t n = 1; n <= kCiderOrder; ++n) {  // n-grams that are in no document
        for (size_t i = 0; i + n <= text.size(); ++i) {
          ngrams_.try_emplace(text.substr(i, n), Ngram{static_cast<int32_t>(ngrams_.size()), 0});
        }
      }
      vectors.push_back(vector_of(text));
    }
  }
}

char32_t CiderScorer::add_word(const std::string& word) {
  return words_.try_emplace(word, static_cast<char32_t>(words_.size())).first->second;
}

void CiderScorer::add_documents(std::span<const ImageCaptions> documents) {
  for (const ImageCaptions& captions : documents) {
    std::unordered_set<std::u32string> seen;
    for (const CaptionWords& words : captions) {
      std::u32string text;
      for (const std::string& word : words) text += add_word(word);
      for (size_t n = 1; n <= kCiderOrder; ++n) {
        for (size_t i = 0; i + n <= text.size(); ++i) seen.insert(text.substr(i, n));
      }
    }
    for (const std::u32string& ngram : seen) {
      ++ngrams_.try_emplace(ngram, Ngram{static_cast<int32_t>(ngrams_.size()), 0}).first->second.documents;
    }
  }
}

// Words that no reference has are numbered after the others, differently in every caption.
std::u32string CiderScorer::encode(std::span<const std::string> words) const {
  std::unordered_map<std::string_view, char32_t> unseen;
  std::u32string text;
  for (const std::string& word : words) {
    const auto found = words_.find(word);
    text += found != words_.end()
                ? found->second
                : unseen.try_emplace(word, static_cast<char32_t>(words_.size() + unseen.size())).first->second;
  }
  return text;
}

CiderScorer::Vector CiderScorer::vector_of(std::u32string_view text) const {
  Vector vector;
  vector.length = ngram_total(text.size(), 2);
  for (size_t n = 1; n <= kCiderOrder; ++n) {
    std::vector<Weight>& weights = vector.weights[n - 1];
    double squares = 0;
    for (const auto& [ngram, count] : count_ngrams(text, n)) {
      const auto found = ngrams_.find(ngram);
      const double documents = found == ngrams_.end() ? 0 : static_cast<double>(found->second.documents);
      const double weight = static_cast<double>(count) * (log_images_ - std::log(std::max(1.0, documents)));
      squares += weight * weight;
      weights.push_back({found == ngrams_.end() ? kUnseen : found->second.id, weight});
    }
    vector.norms[n - 1] = std::sqrt(squares);
    std::sort(weights.begin(), weights.end(), [](const Weight& a, const Weight& b) { return a.ngram < b.ngram; });
  }
  return vector;
}

double CiderScorer::similarity(const Vector& caption, const Vector& reference) {
  double sum = 0;
  for (size_t n = 0; n < kCiderOrder; ++n) {
    const double norms = caption.norms[n] * reference.norms[n];
    if (norms == 0) continue;
    double dot = 0;
    auto r = reference.weights[n].begin();
    for (const Weight& weight : caption.weights[n]) {
      while (r != reference.weights[n].end() && r->ngram < weight.ngram) ++r;
      if (r == reference.weights[n].end()) break;
      if (r->ngram == weight.ngram) dot += std::min(weight.value, r->value) * r->value;
    }
    sum += dot / norms;
  }
  const auto difference = static_cast<double>(caption.length - reference.length);
  return sum / kCiderOrder * std::exp(-difference * difference / (2 * kSigma * kSigma));
}

double CiderScorer::score(size_t image, std::span<const std::string> words) const {
  check(image < references_.size(), "CIDEr-D: expected the index of one of {} images, got {}", references_.size(),
        image);
  const Vector caption = vector_of(encode(words));
  double sum = 0;
  for (const Vector& reference : references_[image]) sum += similarity(caption, reference);
  return 10 * sum / static_cast<double>(references_[image].size());
}

double CiderScorer::score(size_t image, std::string_view caption) const { return score(image, caption_words(caption)); }

}  // namespace fovea
