// Reads requests with pictures: base64 in JSON, or a file in a multipart form.
#include <fmt/format.h>

#include <algorithm>

#include "base/base64.h"
#include "base/error.h"
#include "fovea/serve/answers.h"
#include "fovea/serve/interventions.h"
#include "fovea/serve/requests.h"
#include "store/caption_folder.h"
#include "vision/image.h"

namespace fovea::app {

namespace {

constexpr std::string_view kImage = "image";
constexpr size_t kLongestName = 200;

bool is_form(const Call& call) { return call.content_type == "multipart/form-data"; }

// A field of a form as the JSON that it stands for: 3, true, ["a", "b"]. What is not JSON is a text.
Json field_json(const std::string& name, const std::string& value) {
  const bool always_text = name == "model" || name == "next" || (name == "prefix" && !value.starts_with('['));
  if (!always_text) {
    try {
      return parse_json(value, name);
    } catch (const Error&) {
      // The member's reader says what it expected.
    }
  }
  return value;
}

std::string bytes_of(const std::string& name, std::string_view text) {
  const std::string wrong = fmt::format("{}: expected a picture in base64, or a data URL with base64", name);
  if (text.starts_with("data:")) {
    const size_t comma = text.find(',');
    if (comma == std::string_view::npos || !text.substr(0, comma).ends_with(";base64")) {
      throw bad_request(fmt::format("{}, got \"{}\".", wrong, brief(std::string(text.substr(0, 60)), 40)));
    }
    text.remove_prefix(comma + 1);
  }
  std::string packed(text);  // programs break lines of base64
  std::erase_if(packed, [](char c) { return c == '\n' || c == '\r' || c == ' '; });
  if (packed.empty()) throw bad_request(fmt::format("{}, got an empty text.", wrong));
  std::optional<std::string> bytes = from_base64(packed);
  if (!bytes) throw bad_request(fmt::format("{}, got \"{}\".", wrong, brief(packed.substr(0, 60), 40)));
  return *std::move(bytes);
}

// The pictures of a request with their names for messages.
struct NamedPictures {
  std::vector<std::string> names;
  std::vector<Job::Caption::Picture> pictures;
};

NamedPictures read_pictures(const Call& call, Members& members, Wanted& wanted) {
  NamedPictures all;
  if (is_form(call)) {
    const auto part = call.form.find(std::string(kImage));
    if (part == call.form.end()) {
      throw bad_request(fmt::format("{}: expected a part of this name with a picture, got none.", kImage));
    }
    if (part->second.empty()) throw bad_request(fmt::format("{}: the part is empty.", kImage));
    all.names.emplace_back(kImage);
    all.pictures.push_back({.bytes = part->second});
    return all;
  }
  if (members.find(kImage) == nullptr) {
    throw bad_request(fmt::format("{}: expected a picture in base64, got nothing.", kImage));
  }
  const std::vector<std::string> texts = members.texts(kImage, &wanted.is_list);
  check_count(kImage, std::ssize(texts), Limits::kMostImages, "picture");
  for (const std::string& text : texts) {
    all.names.push_back(wanted.is_list ? fmt::format("{} {}", kImage, all.names.size() + 1) : std::string(kImage));
    all.pictures.push_back({.bytes = bytes_of(all.names.back(), text)});
  }
  return all;
}

// Only headers are read here: the worker decodes.
void check_pictures(NamedPictures& all, const Limits& limits) {
  int64_t pixels = 0;
  for (size_t i = 0; i < all.pictures.size(); ++i) {
    ImageSize size;
    try {
      size = image_size(all.pictures[i].bytes, all.names[i]);
    } catch (const Error& error) {
      throw bad_request(fmt::format("{}.", error.what()));
    }
    all.pictures[i].pixels = size.width * size.height;
    pixels += all.pictures[i].pixels;
    if (pixels <= limits.max_pixels) continue;
    const bool alone = all.pictures.size() == 1;
    throw too_large(fmt::format("{}: expected {} of at most {} pixels{}, got {}.", alone ? all.names[0] : kImage,
                                alone ? "a picture" : "pictures", limits.max_pixels, alone ? "" : " together",
                                alone ? fmt::format("{} x {}", size.width, size.height) : "more"));
  }
}

// The name of an uploaded file without its folder, as a record shows it.
std::string shown_name(const Call& call) {
  const size_t slash = call.file_name.find_last_of("/\\");
  const std::string name = slash == std::string::npos ? call.file_name : call.file_name.substr(slash + 1);
  return name.empty() ? std::string(kImage) : name.substr(0, kLongestName);
}

}  // namespace

Members caption_members(const Call& call) {
  if (!is_form(call)) return Members(call.body);
  Json json = Json::object();
  for (const auto& [name, value] : call.form) {
    if (name != kImage) json[name] = field_json(name, value);
  }
  return Members(std::move(json));
}

std::shared_ptr<Job> caption_job(const Call& call, Members& members, const Hosted& model, const SearchOptions& defaults,
                                 const Limits& limits, Wanted& wanted) {
  const EncoderDecoder& decoder = *model.captioner().model().loaded.model;
  Job::Caption request;
  request.search = read_search(members, defaults, decoder, wanted);
  request.search.max_length = smaller_limit(request.search.max_length, decoder.max_target());
  request.wants_tree = members.flag("tree");
  const WrittenPrefix prefix = read_prefix(members);
  NamedPictures all = read_pictures(call, members, wanted);
  check_pictures(all, limits);
  if (!prefix.empty()) {
    const ForcedPrefix forced = caption_prefix_ids(prefix, model);
    for (size_t i = 0; i < all.pictures.size(); ++i) add_prefix(request.search, forced, decoder.max_target());
  }
  if (!request.search.edits.empty() && wanted.is_list) throw bad_request("edits: expected one picture.");
  std::vector<SharedLine> sources;
  for (std::string& name : all.names)
    sources.push_back(untokenised(is_form(call) ? shown_name(call) : std::move(name)));
  request.pictures = std::move(all.pictures);
  const bool alone = request.search.sample || !request.search.edits.empty();
  auto job = std::make_shared<Job>(std::move(sources), std::move(request));
  job->alone = alone;  // as of a translation
  return job;
}

}  // namespace fovea::app
