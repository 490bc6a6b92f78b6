#include "evaluate/alignment.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <set>

#include "base/error.h"

namespace fovea {

namespace {

int64_t number_at(std::string_view word, size_t& at) {
  int64_t number = -1;
  const auto [end, error] = std::from_chars(word.data() + at, word.data() + word.size(), number);
  at = static_cast<size_t>(end - word.data());
  return error == std::errc() ? number : -1;
}

void sort_once(Alignment& alignment) {
  std::sort(alignment.begin(), alignment.end());
  alignment.erase(std::unique(alignment.begin(), alignment.end()), alignment.end());
}

Alignment common(const Alignment& a, const Alignment& b) {
  Alignment result;
  std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(result));
  return result;
}

Alignment together(const Alignment& a, const Alignment& b) {
  Alignment result;
  std::set_union(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(result));
  return result;
}

// Koehn et al. 2003: from the intersection, links of the union beside a link that is there, as long as one of their
// words is without any; at the end those that still join such words.
class Growing {
 public:
  Growing(const Alignment& forward, const Alignment& backward)
      : all_(together(forward, backward)), links_(), sources_(), targets_() {
    for (const Link& link : common(forward, backward)) add(link);
  }

  void grow_diagonally() {
    for (bool grown = true; grown;) {
      grown = false;
      for (const Link& link : Alignment(links_.begin(), links_.end())) {
        for (const auto& [ds, dt] : kNeighbours) {
          const Link beside{link.source + ds, link.target + dt};
          if (!std::binary_search(all_.begin(), all_.end(), beside) || links_.contains(beside)) continue;
          if (sources_.contains(beside.source) && targets_.contains(beside.target)) continue;
          add(beside);
          grown = true;
        }
      }
    }
  }
  // Of one direction: links with a word (or, `both`, two words) still without any.
  void finish(const Alignment& direction, bool both) {
    for (const Link& link : direction) {
      const bool source = sources_.contains(link.source), target = targets_.contains(link.target);
      if (both ? !source && !target : !source || !target) add(link);
    }
  }
  Alignment result() const { return {links_.begin(), links_.end()}; }

 private:
  static constexpr std::pair<int, int> kNeighbours[] = {{-1, 0},  {0, -1}, {1, 0},  {0, 1},
                                                        {-1, -1}, {-1, 1}, {1, -1}, {1, 1}};
  void add(const Link& link) {
    links_.insert(link);
    sources_.insert(link.source);
    targets_.insert(link.target);
  }

  Alignment all_;
  std::set<Link> links_;
  std::set<int64_t> sources_, targets_;
};

double share(int64_t part, int64_t whole) {
  return whole == 0 ? 0.0 : static_cast<double>(part) / static_cast<double>(whole);
}

}  // namespace

GoldAlignment parse_pharaoh(std::string_view line, int64_t first, const std::string& place) {
  GoldAlignment gold;
  for (size_t begin = 0; begin < line.size();) {
    if (line[begin] == ' ' || line[begin] == '\t') {
      ++begin;
      continue;
    }
    const std::string_view word = line.substr(begin, line.find_first_of(" \t", begin) - begin);
    begin += word.size();
    size_t at = 0;
    const int64_t source = number_at(word, at);
    const char between = at < word.size() ? word[at++] : ' ';
    const int64_t target = number_at(word, at);
    check(source >= 0 && target >= 0 && at == word.size() && (between == '-' || between == '?'),
          "{}: expected links such as 0-0 1-2 3?3 (source word, target word), got '{}'", place, word);
    check(source >= first && target >= first, "{}: expected words numbered from {}, got '{}'", place, first, word);
    const Link link{source - first, target - first};
    gold.possible.push_back(link);
    if (between == '-') gold.sure.push_back(link);
  }
  sort_once(gold.sure);
  sort_once(gold.possible);
  return gold;
}

std::string to_pharaoh(const Alignment& alignment, int64_t first) {
  std::string text;
  for (const Link& link : alignment) {
    text += fmt::format("{}{}-{}", text.empty() ? "" : " ", link.source + first, link.target + first);
  }
  return text;
}

std::vector<std::string> symmetrisations() {
  return {"intersection", "union", "grow-diag", "grow-diag-final", "grow-diag-final-and"};
}

Alignment symmetrise(const Alignment& forward, const Alignment& backward, std::string_view how) {
  if (how == "intersection") return common(forward, backward);
  if (how == "union") return together(forward, backward);
  Growing growing(forward, backward);
  growing.grow_diagonally();
  if (how != "grow-diag") {
    const bool both = how == "grow-diag-final-and";
    growing.finish(forward, both);
    growing.finish(backward, both);
  }
  return growing.result();
}

void AlignmentScore::add(const Alignment& alignment, const GoldAlignment& gold) {
  links_ += std::ssize(alignment);
  sure_ += std::ssize(gold.sure);
  links_sure_ += std::ssize(common(alignment, gold.sure));
  links_possible_ += std::ssize(common(alignment, gold.possible));
}

double AlignmentScore::error_rate() const { return 1.0 - share(links_sure_ + links_possible_, links_ + sure_); }
double AlignmentScore::precision() const { return share(links_possible_, links_); }
double AlignmentScore::recall() const { return share(links_sure_, sure_); }

}  // namespace fovea
