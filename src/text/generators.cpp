#include "text/generators.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>

#include "base/error.h"

namespace fovea {

namespace chrono = std::chrono;

namespace {

void reversed_letters(Random& random, std::string& source, std::string& target) {
  const uint64_t length = 1 + random.below(20);
  for (uint64_t i = 0; i < length; ++i) {
    if (i > 0) source += ' ';
    source += static_cast<char>('a' + random.below(26));
  }
  target.assign(source.rbegin(), source.rend());
}

void sorted_numbers(Random& random, std::string& source, std::string& target) {
  std::vector<uint64_t> numbers(1 + random.below(10));
  for (uint64_t& number : numbers) number = random.below(100);
  source = fmt::format("{}", fmt::join(numbers, " "));
  std::sort(numbers.begin(), numbers.end());
  target = fmt::format("{}", fmt::join(numbers, " "));
}

void date(Random& random, std::string& source, std::string& target) {
  constexpr chrono::sys_days kFirst = chrono::year(1900) / 1 / 1, kAfter = chrono::year(2100) / 1 / 1;
  const auto days = static_cast<uint64_t>((kAfter - kFirst).count());
  const chrono::year_month_day drawn = kFirst + chrono::days(random.below(days));
  const int y = int{drawn.year()};
  const auto m = unsigned{drawn.month()}, d = unsigned{drawn.day()};
  const auto forms = written_dates(y, static_cast<int>(m), static_cast<int>(d));
  source = forms[random.below(forms.size())];
  target = fmt::format("{:04}-{:02}-{:02}", y, m, d);
}

// The number of digits is drawn first, so that short numbers are not rare.
uint64_t number(Random& random) {
  uint64_t bound = 10;
  for (uint64_t more = random.below(9); more > 0; --more) bound *= 10;
  return random.below(bound);
}

void english(Random& random, std::string& source, std::string& target) {
  const uint64_t drawn = number(random);
  source = std::to_string(drawn);
  target = english_number(drawn);
}

void chinese(Random& random, std::string& source, std::string& target) {
  const uint64_t drawn = number(random);
  source = std::to_string(drawn);
  target = chinese_number(drawn);
}

constexpr Generator kGenerators[] = {
    {"dates", "Dates as people write them, in eleven languages, to yyyy-mm-dd.", date},
    {"numbers", "Numbers of one to nine digits to English words.", english},
    {"numbers-zh", "Numbers of one to nine digits to Chinese words.", chinese},
    {"reverse", "One to twenty letters to the same letters reversed.", reversed_letters},
    {"sort", "One to ten numbers below 100 to the same numbers in ascending order.", sorted_numbers},
};

}  // namespace

std::span<const Generator> generators() { return kGenerators; }

ParallelLines generate(std::string_view name, int64_t count, uint64_t seed) {
  std::string names;
  for (const Generator& generator : kGenerators) {
    names += (names.empty() ? "" : ", ") + std::string(generator.name);
    if (generator.name != name) continue;
    ParallelLines lines;
    for (int64_t i = 0; i < count; ++i) {
      Random random(seed, static_cast<uint64_t>(i));
      generator.pair(random, lines.source.emplace_back(), lines.target.emplace_back());
    }
    return lines;
  }
  fail("there is no task \"{}\"; expected one of {}", name, names);
}

}  // namespace fovea
