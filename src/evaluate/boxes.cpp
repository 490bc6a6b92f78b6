#include "evaluate/boxes.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/json.h"
#include "text/lines.h"
#include "text/unicode.h"

namespace fovea {

namespace {

constexpr size_t kMostBoxes = 1000;  // of a phrase

const Json& member(const Json& object, const char* key, const std::string& place) {
  check(object.is_object() && object.contains(key), "{}: expected an object with {}, got {}", place, key,
        brief_value(object));
  return object[key];
}

const Json& list(const Json& object, const char* key, const std::string& place) {
  const Json& value = member(object, key, place);
  check(value.is_array(), "{}: {}: expected a list, got {}", place, key, brief_value(value));
  return value;
}

std::string text(const Json& object, const char* key, const std::string& place) {
  const Json& value = member(object, key, place);
  check(value.is_string() && !value.get_ref<const std::string&>().empty(), "{}: {}: expected a text, got {}", place,
        key, brief_value(value));
  return value;
}

Box read_box(const Json& json, const std::string& place) {
  const bool numbers = json.is_array() && json.size() == 4 &&
                       std::all_of(json.begin(), json.end(), [](const Json& number) { return number.is_number(); });
  check(numbers, "{}: boxes: expected four numbers [x0, y0, x1, y1], got {}", place, brief(json.dump()));
  const Box box{json[0], json[1], json[2], json[3]};
  check(0 <= box.x0 && box.x0 <= box.x1 && box.x1 <= 1 && 0 <= box.y0 && box.y0 <= box.y1 && box.y1 <= 1,
        "{}: boxes: expected shares 0 <= x0 <= x1 <= 1 and 0 <= y0 <= y1 <= 1, got {}", place, brief(json.dump()));
  return box;
}

BoxedPhrase read_phrase(const Json& json, int64_t words, const std::string& place) {
  const Json& range = list(json, "words", place);
  const bool integers = range.size() == 2 && range[0].is_number_integer() && range[1].is_number_integer();
  check(integers, "{}: words: expected two integers [from, to), got {}", place, brief(range.dump()));
  BoxedPhrase phrase;
  phrase.from = range[0];
  phrase.to = range[1];
  check(0 <= phrase.from && phrase.from < phrase.to && phrase.to <= words,
        "{}: words: expected 0 <= from < to <= {}, the number of words, got {}", place, words, brief(range.dump()));
  phrase.type = text(json, "type", place);
  const Json& boxes = list(json, "boxes", place);
  check(!boxes.empty() && boxes.size() <= kMostBoxes, "{}: boxes: expected 1 to {}, got {}", place, kMostBoxes,
        boxes.size());
  for (const Json& box : boxes) phrase.boxes.push_back(read_box(box, place));
  return phrase;
}

}  // namespace

std::vector<BoxedImage> read_boxes(const std::string& path) {
  LineReader reader(path);
  std::vector<BoxedImage> images;
  for (std::string line; reader.next(line);) {
    const std::string place = reader.place();
    const Json json = parse_json(line, place);
    BoxedImage& image = images.emplace_back();
    image.image = text(json, "image", place);
    for (const Json& sentence : list(json, "sentences", place)) {
      BoxedCaption& caption = image.captions.emplace_back();
      caption.text = text(sentence, "text", place);
      const auto words = std::ssize(unicode::split(unicode::decode(caption.text)));
      for (const Json& phrase : list(sentence, "phrases", place)) {
        caption.phrases.push_back(read_phrase(phrase, words, place));
      }
    }
  }
  check(!images.empty(), "{}: expected a JSON object for each image, got an empty file", path);
  return images;
}

double covered_area(const std::vector<Box>& boxes) {
  std::vector<double> xs;
  for (const Box& box : boxes) xs.insert(xs.end(), {box.x0, box.x1});
  std::sort(xs.begin(), xs.end());
  double area = 0;
  for (size_t i = 0; i + 1 < xs.size(); ++i) {  // strips between neighbouring edges
    std::vector<std::pair<double, double>> spans;
    for (const Box& box : boxes) {
      if (box.x0 <= xs[i] && box.x1 >= xs[i + 1]) spans.emplace_back(box.y0, box.y1);
    }
    std::sort(spans.begin(), spans.end());
    double height = 0, reached = 0;
    for (const auto& [y0, y1] : spans) {
      height += std::max(0.0, y1 - std::max(y0, reached));
      reached = std::max(reached, y1);
    }
    area += (xs[i + 1] - xs[i]) * height;
  }
  return area;
}

}  // namespace fovea
