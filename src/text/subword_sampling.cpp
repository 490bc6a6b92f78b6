#include "text/subword_sampling.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "text/utf8.h"

namespace fovea {

namespace {

constexpr double kLogZero = -std::numeric_limits<double>::infinity();

// A piece in the lattice of a word. Arcs that end at the same byte form a linked list.
struct Arc {
  size_t begin;
  int32_t id;
  int32_t next;   // the next arc of the list; -1 at its end
  double weight;  // the log of the total weight of all paths to the arc's end that use it
};

// log Σ exp(weight) over a list of arcs.
double log_sum(const std::vector<Arc>& arcs, int32_t chain) {
  double most = kLogZero, sum = 0;
  for (int32_t i = chain; i >= 0; i = arcs[static_cast<size_t>(i)].next)
    most = std::max(most, arcs[static_cast<size_t>(i)].weight);
  for (int32_t i = chain; i >= 0; i = arcs[static_cast<size_t>(i)].next)
    sum += std::exp(arcs[static_cast<size_t>(i)].weight - most);
  return most + std::log(sum);
}

}  // namespace

PieceTree::PieceTree(const sentencepiece::SentencePieceProcessor& model, const std::vector<bool>& is_symbol)
    : ids_{-1} {
  for (int32_t id = 0; id < model.GetPieceSize(); ++id) {
    ordinary_.push_back(!model.IsUnknown(id) && !model.IsControl(id) && !model.IsByte(id) && !model.IsUnused(id) &&
                        !is_symbol[static_cast<size_t>(id)]);
    scores_.push_back(static_cast<double>(model.GetScore(id)));
    if (!ordinary_.back()) continue;
    int32_t node = 0;
    for (const char byte : model.IdToPiece(id)) {
      const auto [place, made] = steps_.emplace(key(node, byte), static_cast<int32_t>(ids_.size()));
      if (made) ids_.push_back(-1);
      node = place->second;
    }
    ids_[static_cast<size_t>(node)] = id;
  }
}

int32_t PieceTree::find(std::string_view piece) const {
  int32_t node = 0;
  for (size_t i = 0; i < piece.size() && node >= 0; ++i) node = step(node, piece[i]);
  return node < 0 ? -1 : id(node);
}

void sample_unigram(const PieceTree& pieces, std::string_view word, double exponent, Random& random,
                    std::vector<int32_t>& ids) {
  std::vector<Arc> arcs;
  std::vector<int32_t> ending(word.size() + 1, -1);  // for each byte, the list of arcs that end there
  for (size_t begin = 0; begin < word.size(); ++begin) {
    if (begin > 0 && ending[begin] < 0) continue;
    const double before = begin == 0 ? 0 : log_sum(arcs, ending[begin]);
    int32_t node = 0;
    for (size_t end = begin + 1; end <= word.size(); ++end) {
      node = pieces.step(node, word[end - 1]);
      if (node < 0) break;
      const int32_t id = pieces.id(node);
      if (id < 0) continue;
      const auto index = static_cast<int32_t>(arcs.size());
      arcs.push_back({.begin = begin, .id = id, .next = ending[end], .weight = before + exponent * pieces.score(id)});
      ending[end] = index;
    }
  }
  const auto first = static_cast<std::ptrdiff_t>(ids.size());
  for (size_t end = word.size(); end > 0;) {
    const double total = log_sum(arcs, ending[end]);
    const Arc* drawn = &arcs[static_cast<size_t>(ending[end])];
    double remaining = random.uniform() - std::exp(drawn->weight - total);
    while (remaining >= 0 && drawn->next >= 0) {
      drawn = &arcs[static_cast<size_t>(drawn->next)];
      remaining -= std::exp(drawn->weight - total);
    }
    ids.push_back(drawn->id);
    end = drawn->begin;
  }
  std::reverse(ids.begin() + first, ids.end());
}

void sample_bpe(const PieceTree& pieces, std::string_view word, double dropout, Random& random,
                std::vector<int32_t>& ids) {
  std::vector<size_t> bounds;  // symbol i is bytes [bounds[i], bounds[i + 1])
  for (const auto& [value, begin, end] : code_points(word)) bounds.push_back(begin);
  bounds.push_back(word.size());
  const auto joined = [&](size_t i, size_t symbols) {
    return pieces.find(word.substr(bounds[i], bounds[i + symbols] - bounds[i]));
  };
  std::vector<int32_t> merges;  // the piece that symbols i and i + 1 merge to; -1 if there is none
  for (size_t i = 0; i + 2 < bounds.size(); ++i) merges.push_back(joined(i, 2));
  while (true) {
    size_t best = merges.size();
    for (size_t i = 0; i < merges.size(); ++i) {
      if (merges[i] < 0 || random.uniform() < dropout) continue;
      if (best == merges.size() || pieces.score(merges[i]) > pieces.score(merges[best])) best = i;
    }
    if (best == merges.size()) break;
    bounds.erase(bounds.begin() + static_cast<std::ptrdiff_t>(best) + 1);
    merges.erase(merges.begin() + static_cast<std::ptrdiff_t>(best));
    if (best > 0) merges[best - 1] = joined(best - 1, 2);
    if (best < merges.size()) merges[best] = joined(best, 2);
  }
  for (size_t i = 0; i + 1 < bounds.size(); ++i) ids.push_back(joined(i, 1));
}

}  // namespace fovea
