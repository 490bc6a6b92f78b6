// fovea caption: a caption for each picture.
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/thousands.h"
#include "fovea/commands.h"
#include "fovea/console.h"
#include "fovea/flags.h"
#include "fovea/output.h"
#include "store/folder_config.h"
#include "tasks/captioner.h"
#include "tasks/pictures.h"
#include "text/lines.h"

namespace fovea::app {

namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kAtOnce = 32;  // pictures in memory

struct CaptionFlags : PredictorFlags {
  std::vector<std::string> pictures;
  std::string input, output;
  bool json = false;
  SearchFlags search_flags;
};

std::string json_line(const std::string& file, const Caption& caption) {
  Json candidates = Json::array();
  for (const Caption::Candidate& c : caption.candidates) {
    candidates.push_back({{"text", c.text},
                          {"score", c.hypothesis.score},
                          {"log_probability", c.hypothesis.log_probability},
                          {"ended", c.hypothesis.finished}});
  }
  return Json{{"image", file}, {"caption", caption.text()}, {"candidates", std::move(candidates)}}.dump(
             -1, ' ', false, Json::error_handler_t::replace) +
         "\n";
}

std::vector<std::string> names_of_pictures(const CaptionFlags& flags) {
  check(flags.pictures.empty() != flags.input.empty(),
        "caption: expected pictures as arguments, or --input with their names, a line each");
  if (!flags.pictures.empty()) return flags.pictures;
  std::vector<std::string> names;
  LineReader reader(flags.input);
  for (std::string line; reader.next(line);) {
    if (!line.empty()) names.push_back(line);
  }
  return names;
}

int caption(const CaptionFlags& flags) {
  const std::vector<std::string> names = names_of_pictures(flags);
  check_output_is_no_input(flags.output, names);
  const std::string folder = flags.prepare("caption");
  const SearchOptions search = flags.search_flags.checked_for_model(read_folder_config(folder));
  const Captioner captioner(folder, flags.options);
  const int64_t size = captioner.size();
  Output output(flags.output);
  Console console(stderr);
  int64_t unread = 0;
  for (size_t at = 0; at < names.size(); at += kAtOnce) {
    std::vector<std::string> files;
    std::vector<Image> images;
    for (size_t i = at; i < std::min(names.size(), at + kAtOnce); ++i) {
      try {
        images.push_back(network_input(read_image(names[i], size), size));  // which is small
        files.push_back(names[i]);
      } catch (const Error& error) {  // the other pictures get their captions
        console.line(error.what());
        ++unread;
      }
    }
    std::string text;
    const std::vector<Caption> captions = captioner.caption(images, search);
    for (size_t i = 0; i < files.size(); ++i) {
      if (flags.json) {
        text += json_line(files[i], captions[i]);
        continue;
      }
      for (const Caption::Candidate& c : captions[i].candidates) {
        text += names.size() > 1 ? fmt::format("{}\t{}\n", files[i], c.text) : c.text + "\n";
      }
    }
    output.write(text);
    if (names.size() > kAtOnce) {
      console.live(fmt::format("{} of {} pictures",
                               thousands(static_cast<int64_t>(std::min(names.size(), at + kAtOnce))),
                               thousands(std::ssize(names))));
    }
  }
  console.finish();
  output.commit();
  check(unread == 0 || unread < std::ssize(names), "caption: no picture could be read");
  return unread == 0 ? kDone : kFailed;
}

}  // namespace

void add_caption(CLI::App& app, Run& run) {
  CLI::App* command = app.add_subcommand("caption", "Describe pictures (JPEG, PNG, WebP).");
  const auto flags = std::make_shared<CaptionFlags>();
  command->add_option("picture", flags->pictures, "Pictures to describe.")->type_name("FILE");
  add_predictor_flags(*command, *flags);
  command->add_option("-i,--input", flags->input, "File with the names of pictures, a line each; - for standard input.")
      ->type_name("FILE");
  command->add_option("-o,--output", flags->output, "File for the captions; standard output by default.")
      ->type_name("FILE");
  command->add_flag("--json", flags->json, "Print one JSON object per picture, with scores and all hypotheses.");
  flags->search_flags.add_to(*command, "Search", "caption");
  command->footer(
      "One picture: the caption. Several: file, tab, caption. fovea view -m MODEL PICTURE shows where it looked.");
  command->callback([flags, &run] { run = [flags] { return caption(*flags); }; });
}

}  // namespace fovea::app
