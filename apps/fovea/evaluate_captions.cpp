#include "fovea/evaluate_captions.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "base/error.h"
#include "base/files.h"
#include "base/thousands.h"
#include "evaluate/captions.h"
#include "evaluate/pointing.h"
#include "fovea/commands.h"
#include "fovea/console.h"
#include "tasks/captioner.h"
#include "tasks/pictures.h"

namespace fovea::app {

namespace {

using Json = nlohmann::ordered_json;

// Of one image every n-gram is in all documents, so nothing tells captions apart.
void warn_of_few(size_t documents) {
  if (documents > 1) return;
  fmt::print(stderr, "warning: CIDEr-D is 0 because its document frequencies are those of a single image\n");
}

}  // namespace

Json captions_json(std::span<const Segment> segments, const std::string& documents) {
  CaptionSet others;
  if (!documents.empty()) others = read_captions(documents);
  warn_of_few(documents.empty() ? segments.size() : others.images.size());
  const CaptionScore score = caption_score(segments, others.captions);
  size_t references = 0;
  for (const Segment& segment : segments) references += segment.references.size();
  Json json{{"images", segments.size()}, {"references", references}};
  for (const std::string& name : caption_metrics()) json[name] = score.named(name);
  return json;
}

std::string captions_text(const Json& scores) {
  const auto value = [&](const char* name) { return scores.at(name).get<double>(); };
  return fmt::format(
      "{}, {}\nBLEU-1 / 2 / 3 / 4 = {:.2f} / {:.2f} / {:.2f} / {:.2f}\nROUGE-L = {:.2f}\n"
      "CIDEr-D = {:.2f}\n",
      counted(scores.at("images").get<int64_t>(), "image"),
      counted(scores.at("references").get<int64_t>(), "reference"), value("bleu-1"), value("bleu-2"), value("bleu-3"),
      value("bleu-4"), value("rouge-l"), value("cider-d"));
}

int evaluate_captions(const CaptionTest& test) {
  const std::vector<Segment> segments = read_caption_hypotheses(test.hypotheses, read_captions(test.references));
  const Json scores = captions_json(segments, test.documents);
  fmt::print("{}", test.json ? scores.dump(2) + "\n" : captions_text(scores));
  return kDone;
}

namespace {

constexpr size_t kCaptionsAtOnce = 512;  // whose attention is in memory

PointingGame play(const Captioner& captioner, const CaptionerTest& test, const Pictures& pictures,
                  const std::vector<BoxedImage>& boxed, const std::map<std::string, int32_t>& numbers,
                  Console& console) {
  std::vector<const BoxedCaption*> captions;
  std::vector<std::string> texts;
  std::vector<int32_t> of;
  for (const BoxedImage& image : boxed) {
    const auto number = numbers.find(image.image);
    check(number != numbers.end(), "{}: expected pictures of {}, got {}", test.boxes, test.references, image.image);
    for (const BoxedCaption& caption : image.captions) {
      captions.push_back(&caption);
      texts.push_back(caption.text);
      of.push_back(number->second);
    }
  }
  PointingGame game;
  for (size_t at = 0; at < texts.size(); at += kCaptionsAtOnce) {
    const size_t count = std::min(kCaptionsAtOnce, texts.size() - at);
    const std::vector<Hypothesis> forced = captioner.score(
        pictures, std::span(of).subspan(at, count), std::span(texts).subspan(at, count), {.capture_weights = true});
    for (size_t i = 0; i < count; ++i) game.add(*captions[at + i], captioner.token_attention(texts[at + i], forced[i]));
    console.live(fmt::format("pointing: {} of {} captions", thousands(static_cast<int64_t>(at + count)),
                             thousands(std::ssize(texts))));
  }
  return game;
}

}  // namespace

int evaluate_captioner(const CaptionerTest& test, const PredictorFlags& flags) {
  const CaptionSet references = read_captions(test.references);
  const Captioner captioner(flags.prepare("caption"), flags.options);
  std::vector<std::string> files;
  std::vector<int32_t> all;
  std::map<std::string, int32_t> numbers;
  for (const std::string& image : references.images) {
    numbers.emplace(image, static_cast<int32_t>(files.size()));
    all.push_back(static_cast<int32_t>(files.size()));
    files.push_back((std::filesystem::path(test.images) / image).string());
    check(std::filesystem::exists(files.back()),
          "{}: expected a picture, found no such file; --images names the folder of the pictures", files.back());
  }
  Console console(stderr);
  const Pictures pictures(captioner.model(), files);
  const std::vector<Caption> captions = captioner.caption(pictures, all, test.search, [&](int64_t done) {
    console.live(fmt::format("described {} of {} pictures", thousands(done), thousands(std::ssize(all))));
  });
  std::vector<Segment> segments;
  std::string written;
  for (size_t i = 0; i < captions.size(); ++i) {
    segments.push_back({captions[i].text(), references.captions[i]});
    written += references.images[i] + "\t" + captions[i].text() + "\n";
  }
  Json scores = captions_json(segments, test.documents);
  std::string pointing;
  if (!test.boxes.empty()) {
    const PointingGame game = play(captioner, test, pictures, read_boxes(test.boxes), numbers, console);
    pointing = "\n" + game.text();
    for (const PointingRow& row : game.rows()) {
      scores["pointing"][row.type] = {{"phrases", row.phrases},
                                      {"accuracy", 100 * row.accuracy()},
                                      {"random", 100 * row.share(row.random)},
                                      {"centre", 100 * row.share(row.centre)},
                                      {"uniform", 100 * row.share(row.uniform)}};
    }
  }
  console.finish();
  if (!test.output.empty()) write_file_atomically(test.output, written);
  fmt::print("{}", test.json ? scores.dump(2) + "\n" : captions_text(scores) + pointing);
  return kDone;
}

}  // namespace fovea::app
