#include "evaluate/slots.h"

#include <algorithm>
#include <tuple>

#include "base/error.h"

namespace fovea {

namespace {

std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> words;
  for (size_t begin = 0; (begin = line.find_first_not_of(" \t", begin)) != std::string_view::npos;) {
    const size_t end = std::min(line.find_first_of(" \t", begin), line.size());
    words.push_back(line.substr(begin, end - begin));
    begin = end;
  }
  return words;
}

template <class T> int64_t count_common(std::vector<T> a, std::vector<T> b) {
  std::sort(a.begin(), a.end());
  std::sort(b.begin(), b.end());
  std::vector<T> common;
  std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(common));
  return std::ssize(common);
}

std::vector<std::string> values_of(std::span<const SlotValue> pairs) {
  std::vector<std::string> values;
  for (const SlotValue& pair : pairs) values.push_back(pair.value);
  return values;
}

double percent(int64_t part, int64_t whole) {
  return whole == 0 ? 0 : 100 * static_cast<double>(part) / static_cast<double>(whole);
}

void add(FScore& to, int64_t matches, size_t hypotheses, size_t references) {
  to.matches += matches;
  to.hypotheses += static_cast<int64_t>(hypotheses);
  to.references += static_cast<int64_t>(references);
}

}  // namespace

std::vector<SlotValue> parse_slots(std::string_view line) {
  std::vector<SlotValue> pairs;
  SlotValue pair;
  bool named = false;
  const auto end_pair = [&] {
    if (!pair.slot.empty() || !pair.value.empty()) pairs.push_back(std::exchange(pair, {}));
    named = false;
  };
  for (const std::string_view word : words_of(line)) {
    if (word == ";") {
      end_pair();
    } else if (word == "=" && !named) {
      named = true;
      std::swap(pair.slot, pair.value);
    } else {
      if (!pair.value.empty()) pair.value += ' ';
      pair.value += word;
    }
  }
  end_pair();
  return pairs;
}

double FScore::precision() const { return percent(matches, hypotheses); }
double FScore::recall() const { return percent(matches, references); }
double FScore::f1() const { return percent(2 * matches, hypotheses + references); }

std::string SlotScore::line() const {
  const auto text = [](const FScore& s) {
    return fmt::format("F1 = {:.2f} (P = {:.2f} R = {:.2f})", s.f1(), s.precision(), s.recall());
  };
  return fmt::format("slot values: {}; slot pairs: {}", text(values), text(pairs));
}

SlotScore slot_score(std::span<const Segment> segments) {
  check_segments("slots", segments);
  SlotScore score;
  for (const Segment& segment : segments) {
    const std::vector<SlotValue> hypothesis = parse_slots(segment.hypothesis);
    std::tuple<int64_t, int64_t> best{-1, -1};
    size_t length = 0;
    for (const std::string& text : segment.references) {
      const std::vector<SlotValue> reference = parse_slots(text);
      const std::tuple now{count_common(hypothesis, reference),
                           count_common(values_of(hypothesis), values_of(reference))};
      if (now <= best) continue;
      best = now;
      length = reference.size();
    }
    add(score.pairs, std::get<0>(best), hypothesis.size(), length);
    add(score.values, std::get<1>(best), hypothesis.size(), length);
  }
  return score;
}

}  // namespace fovea
