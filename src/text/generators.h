// Synthetic parallel text for tasks that need no download. Pair i depends only on the seed and i.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/random.h"
#include "text/lines.h"

namespace fovea {

struct Generator {
  std::string_view name, help;
  void (*pair)(Random& random, std::string& source, std::string& target);
};

std::span<const Generator> generators();
// Throws an Error for an unknown name; its message lists the names.
ParallelLines generate(std::string_view name, int64_t count, uint64_t seed);

// All written forms that `dates` has for a day of the Gregorian calendar, from 1900 on.
std::vector<std::string> written_dates(int year, int month, int day);

// The number must be below 10^12. 1234: "one thousand two hundred thirty-four"; 10500: "一万零五百".
std::string english_number(uint64_t number);
std::string chinese_number(uint64_t number);

}  // namespace fovea
