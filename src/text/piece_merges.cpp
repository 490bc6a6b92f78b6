#include "text/piece_merges.h"

#include <queue>
#include <set>
#include <tuple>
#include <utility>

#include "text/unicode.h"
#include "text/utf8.h"

namespace fovea {

namespace {

constexpr char32_t kSpaceMark = 0x2581;  // how SentencePiece writes a space in a piece
constexpr int64_t kMaxCharacters = 16;   // as SentencePiece's trainer

enum class Script : uint8_t { kAny, kSpaced, kUnspaced, kDigits, kMarks };

Script script_of(char32_t value) {
  if (value == kSpaceMark) return Script::kAny;
  if (unicode::is_number(value)) return Script::kDigits;
  if (unicode::is_punctuation(value) || unicode::is_symbol(value)) return Script::kMarks;
  return is_unspaced(value) ? Script::kUnspaced : Script::kSpaced;
}

// kMarks if the piece has marks or several scripts.
Script script_of(const std::string& piece) {
  Script script = Script::kAny;
  for (const CodePoint& point : code_points(piece)) {
    const Script own = script_of(point.value);
    if (own == Script::kAny || own == script) continue;
    if (script != Script::kAny) return Script::kMarks;
    script = own;
  }
  return script;
}

std::vector<int32_t> with_merge(const std::vector<int32_t>& pieces, std::pair<int32_t, int32_t> pair, int32_t merged) {
  std::vector<int32_t> joined;
  for (size_t i = 0; i < pieces.size(); ++i) {
    const bool here = i + 1 < pieces.size() && pieces[i] == pair.first && pieces[i + 1] == pair.second;
    joined.push_back(here ? merged : pieces[i]);
    if (here) ++i;
  }
  return joined;
}

}  // namespace

PieceMerges::PieceMerges(std::vector<std::string> pieces) : texts_(std::move(pieces)) {
  for (size_t i = 0; i < texts_.size(); ++i) ids_.emplace(texts_[i], static_cast<int32_t>(i));
}

int32_t PieceMerges::add(const std::string& piece) {
  const auto [at, is_new] = ids_.emplace(piece, static_cast<int32_t>(texts_.size()));
  if (is_new) texts_.push_back(piece);
  return at->second;
}

bool PieceMerges::may_merge(const Pair& pair) const {
  const std::string &left = text(pair.first), &right = text(pair.second);
  const std::string both = left + right;
  return script_of(both) != Script::kMarks && count_code_points(both) <= kMaxCharacters && !ids_.contains(both);
}

void PieceMerges::count_pairs(size_t word, int64_t sign) {
  const Word& w = words_[word];
  for (size_t i = 0; i + 1 < w.pieces.size(); ++i) {
    Occurrences& o = pairs_[{w.pieces[i], w.pieces[i + 1]}];
    o.count += sign * w.count;
    if (sign > 0) o.words.push_back(word);
  }
}

std::vector<PieceMerges::Merge> PieceMerges::merge(const std::map<std::vector<int32_t>, int64_t>& words, int64_t most) {
  for (const auto& [pieces, count] : words) {
    words_.push_back({pieces, count});
    count_pairs(words_.size() - 1, 1);
  }
  // The most frequent pair is first, and of equally frequent ones that of the lowest ids. Counts may be out of date.
  using Entry = std::tuple<int64_t, int32_t, int32_t>;
  std::priority_queue<Entry> queue;
  const auto queue_pair = [&](const Pair& pair, int64_t count) {
    if (count >= 2 && may_merge(pair)) queue.emplace(count, -pair.first, -pair.second);
  };
  for (const auto& [pair, occurrences] : pairs_) queue_pair(pair, occurrences.count);
  std::vector<Merge> merges;
  while (!queue.empty() && std::ssize(merges) < most) {
    const auto [count, minus_left, minus_right] = queue.top();
    queue.pop();
    const Pair pair{-minus_left, -minus_right};
    const int64_t now = pairs_[pair].count;
    if (now != count) {
      queue_pair(pair, now);
      continue;
    }
    if (!may_merge(pair)) continue;  // another pair has become this piece
    const int32_t merged = add(text(pair.first) + text(pair.second));
    merges.push_back({text(merged), pair.first, pair.second, count});
    std::set<Pair> changed;
    for (const size_t word : std::exchange(pairs_[pair].words, {})) {
      std::vector<int32_t>& pieces = words_[word].pieces;
      const std::vector<int32_t> joined = with_merge(pieces, pair, merged);
      if (joined.size() == pieces.size()) continue;  // another merge has taken the pair
      count_pairs(word, -1);
      pieces = joined;
      count_pairs(word, 1);
      for (size_t i = 0; i + 1 < pieces.size(); ++i) {
        if (pieces[i] == merged || pieces[i + 1] == merged) changed.emplace(pieces[i], pieces[i + 1]);
      }
    }
    for (const Pair& near : changed) queue_pair(near, pairs_[near].count);
  }
  return merges;
}

}  // namespace fovea
