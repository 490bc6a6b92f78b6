// Tasks that need no download: text pairs made on the spot. Pair i depends only on the seed and i.
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
// Error with the names there are.
ParallelLines generate(std::string_view name, int64_t count, uint64_t seed);

// All ways that `dates` knows to write a day of the Gregorian calendar, from 1900 on.
std::vector<std::string> written_dates(int year, int month, int day);

// Below 10^12. 1234: "one thousand two hundred thirty-four"; 10500: "一万零五百".
std::string english_number(uint64_t number);
std::string chinese_number(uint64_t number);

}  // namespace fovea
