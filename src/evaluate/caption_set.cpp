#include "evaluate/caption_set.h"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <utility>

#include "base/error.h"
#include "base/json.h"
#include "text/lines.h"

namespace fovea {

namespace {

// A caption and where it was read.
struct Item {
  std::string image, caption, place;
};

std::vector<std::string> lines_of(const std::string& path) {
  LineReader reader(path);
  std::vector<std::string> lines;
  for (std::string line; reader.next(line);) lines.push_back(line);
  check(!lines.empty(), "{}: expected captions, got an empty file", path);
  return lines;
}

bool is_json(const std::string& path) { return path.ends_with(".json") || path.ends_with(".json.gz"); }

std::string text_of(const Json& item, const char* key, const std::string& place) {
  check(item.is_object() && item.contains(key), "{}: expected an object with {}, got {}", place, key,
        brief_value(item));
  const Json& value = item[key];
  if (value.is_number_integer()) return value.dump();
  check(value.is_string(), "{}: {}: expected a text, got {}", place, key, brief_value(value));
  std::string text = value;
  std::replace_if(
      text.begin(), text.end(), [](char c) { return c == '\n' || c == '\r' || c == '\t' || c == '\0'; }, ' ');
  return text;
}

std::vector<Item> json_items(const std::string& path) {
  const Json json = parse_json(read_file(path), path);
  const bool wrapped = json.is_object() && json.contains("annotations");
  const Json& list = wrapped ? json["annotations"] : json;
  check(list.is_array(), "{}: expected a list of captions, or an object with such a list as annotations, got {}", path,
        brief_value(json));
  std::vector<Item> items;
  for (const Json& item : list) {
    const std::string place = fmt::format("{}: caption {}", path, items.size() + 1);
    items.push_back({text_of(item, "image_id", place), text_of(item, "caption", place), place});
  }
  return items;
}

std::vector<Item> tsv_items(const std::string& path, const std::vector<std::string>& lines) {
  std::vector<Item> items;
  for (const std::string& line : lines) {
    const std::string place = fmt::format("{}:{}", path, items.size() + 1);
    const size_t tab = line.find('\t');
    check(tab != std::string::npos, "{}: expected image<TAB>caption, got {}", place,
          line.empty() ? "an empty line" : brief(line));
    check(line.find('\t', tab + 1) == std::string::npos, "{}: expected two columns, image<TAB>caption, got more",
          place);
    items.push_back({line.substr(0, tab), line.substr(tab + 1), place});
  }
  return items;
}

CaptionSet grouped(const std::vector<Item>& items) {
  CaptionSet set;
  std::unordered_map<std::string, size_t> places;
  for (const Item& item : items) {
    check(!item.image.empty(), "{}: expected the name of an image, got none", item.place);
    const auto [place, fresh] = places.emplace(item.image, set.images.size());
    if (fresh) {
      set.images.push_back(item.image);
      set.captions.emplace_back();
    }
    set.captions[place->second].push_back(item.caption);
  }
  return set;
}

}  // namespace

CaptionSet read_captions(const std::string& path) {
  const std::vector<Item> items = is_json(path) ? json_items(path) : tsv_items(path, lines_of(path));
  check(!items.empty(), "{}: expected captions, got none", path);
  return grouped(items);
}

std::vector<Segment> read_caption_hypotheses(const std::string& path, const CaptionSet& references) {
  std::vector<std::optional<std::string>> captions(references.images.size());
  const std::vector<std::string> lines = is_json(path) ? std::vector<std::string>() : lines_of(path);
  if (!lines.empty() && lines.front().find('\t') == std::string::npos) {
    check(lines.size() == references.images.size(), "{}: expected a caption for each of {} images, got {} lines", path,
          references.images.size(), lines.size());
    for (size_t i = 0; i < lines.size(); ++i) {
      check(lines[i].find('\t') == std::string::npos, "{}:{}: expected a caption without a tab, as in line 1", path,
            i + 1);
      captions[i] = lines[i];
    }
  } else {
    std::unordered_map<std::string_view, size_t> places;
    for (const std::string& image : references.images) places.emplace(image, places.size());
    for (const Item& item : lines.empty() ? json_items(path) : tsv_items(path, lines)) {
      const auto found = places.find(item.image);
      check(found != places.end(), "{}: expected an image of the references, got {}", item.place, brief(item.image));
      check(!captions[found->second], "{}: expected one caption an image, got another one of {}", item.place,
            brief(item.image));
      captions[found->second] = item.caption;
    }
  }
  std::vector<Segment> segments;
  for (size_t i = 0; i < captions.size(); ++i) {
    check(captions[i].has_value(), "{}: expected a caption of every image of the references, got none of {}", path,
          brief(references.images[i]));
    segments.push_back({*captions[i], references.captions[i]});
  }
  return segments;
}

}  // namespace fovea
