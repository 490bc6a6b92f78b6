#include "evaluate/alignment.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <set>

#include "base/error.h"

namespace fovea {

namespace {

int64_t number_at(std::string_view link, size_t& at) {
  int64_t number = -1;
  const auto [end, error] = std::from_chars(link.data() + at, link.data() + link.size(), number);
  at = static_cast<size_t>(end - link.data());
  return error == std::errc() ? number : -1;
}

void sort_unique(Alignment& alignment) {
  std::sort(alignment.begin(), alignment.end());
  alignment.erase(std::unique(alignment.begin(), alignment.end()), alignment.end());
}

Alignment intersection(const Alignment& a, const Alignment& b) {
  Alignment result;
  std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(result));
  return result;
}

Alignment set_union(const Alignment& a, const Alignment& b) {
  Alignment result;
  std::set_union(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(result));
  return result;
}

// The grow-diag heuristics of Koehn et al. 2003. They start from the intersection and add neighbouring links of the
// union as long as one of their words is not aligned yet; `final` then adds links of unaligned words.
class GrowDiag {
 public:
  GrowDiag(const Alignment& forward, const Alignment& backward)
      : all_(set_union(forward, backward)), links_(), sources_(), targets_() {
    for (const Link& link : intersection(forward, backward)) add(link);
  }

  void grow() {
    for (bool grown = true; grown;) {
      grown = false;
      for (const Link& link : Alignment(links_.begin(), links_.end())) {
        for (const auto& [ds, dt] : kNeighbours) {
          const Link neighbour{link.source + ds, link.target + dt};
          if (!std::binary_search(all_.begin(), all_.end(), neighbour) || links_.contains(neighbour)) continue;
          if (sources_.contains(neighbour.source) && targets_.contains(neighbour.target)) continue;
          add(neighbour);
          grown = true;
        }
      }
    }
  }
  // Adds the links of one direction with an unaligned word or, if `both`, with two unaligned words.
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

  Alignment all_;  // the union of both directions
  std::set<Link> links_;
  std::set<int64_t> sources_, targets_;  // the aligned words
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
    const std::string_view item = line.substr(begin, line.find_first_of(" \t", begin) - begin);
    begin += item.size();
    size_t at = 0;
    const int64_t source = number_at(item, at);
    const char between = at < item.size() ? item[at++] : ' ';
    const int64_t target = number_at(item, at);
    check(source >= 0 && target >= 0 && at == item.size() && (between == '-' || between == '?'),
          "{}: expected links such as 0-0 1-2 3?3 (source word, target word), got '{}'", place, item);
    check(source >= first && target >= first, "{}: expected words numbered from {}, got '{}'", place, first, item);
    const Link link{source - first, target - first};
    gold.possible.push_back(link);
    if (between == '-') gold.sure.push_back(link);
  }
  sort_unique(gold.sure);
  sort_unique(gold.possible);
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
  if (how == "intersection") return intersection(forward, backward);
  if (how == "union") return set_union(forward, backward);
  GrowDiag growing(forward, backward);
  growing.grow();
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
  links_sure_ += std::ssize(intersection(alignment, gold.sure));
  links_possible_ += std::ssize(intersection(alignment, gold.possible));
}

double AlignmentScore::error_rate() const { return 1.0 - share(links_sure_ + links_possible_, links_ + sure_); }
double AlignmentScore::precision() const { return share(links_possible_, links_); }
double AlignmentScore::recall() const { return share(links_sure_, sure_); }

}  // namespace fovea
