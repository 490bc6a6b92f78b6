#include "fovea/evaluate_captions.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/thousands.h"
#include "evaluate/captions.h"
#include "fovea/commands.h"

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

}  // namespace fovea::app
