#include "text/word_vectors.h"

#include <charconv>
#include <vector>

#include "base/error.h"
#include "text/lines.h"

namespace fovea {

namespace {

// Splits at single blanks; a blank at the end, which word2vec writes, is ignored.
std::vector<std::string_view> split(std::string_view line) {
  while (!line.empty() && line.back() == ' ') line.remove_suffix(1);
  std::vector<std::string_view> parts;
  for (size_t begin = 0; begin <= line.size();) {
    const size_t end = std::min(line.find(' ', begin), line.size());
    parts.push_back(line.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

template <class T> bool parse(std::string_view text, T& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

}  // namespace

void read_word_vectors(const std::string& path, int64_t size,
                       const std::function<void(std::string_view word, std::span<const float> vector)>& take) {
  LineReader reader(path);
  std::vector<float> vector(static_cast<size_t>(size));
  bool any = false;
  for (std::string line; reader.next(line);) {
    const std::vector<std::string_view> parts = split(line);
    int64_t count = 0, depth = 0;
    if (reader.line_number() == 1 && parts.size() == 2 && parse(parts[0], count) && parse(parts[1], depth)) {
      check(depth == size, "{}: expected vectors of {} numbers (model.embedding), got {}", reader.place(), size, depth);
      continue;
    }
    // A word of GloVe's largest file may contain blanks, so the numbers are counted from the end.
    check(std::ssize(parts) > size, "{}: expected a word and {} numbers (model.embedding), got {}", reader.place(),
          size, parts.size() - 1);
    const size_t first = parts.size() - static_cast<size_t>(size);
    for (size_t i = 0; i < vector.size(); ++i) {
      check(parse(parts[first + i], vector[i]), "{}: expected a number, got \"{}\"", reader.place(), parts[first + i]);
    }
    float extra = 0;  // a number before the others means that the vectors are larger
    check(first == 1 || !parse(parts[first - 1], extra), "{}: expected a word and {} numbers (model.embedding), got {}",
          reader.place(), size, parts.size() - 1);
    take(std::string_view(parts[0].data(), static_cast<size_t>(parts[first - 1].end() - parts[0].data())), vector);
    any = true;
  }
  check(any, "{}: expected word vectors, got none", path);
}

}  // namespace fovea
