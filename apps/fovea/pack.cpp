// fovea pack: stores a model with 8-bit matrices, in a quarter of its size.
#include <fmt/format.h>

#include <filesystem>
#include <memory>

#include "base/error.h"
#include "decode/shortlist.h"
#include "fovea/commands.h"
#include "store/caption_folder.h"
#include "store/classifier_folder.h"
#include "store/model_folder.h"
#include "store/shipped.h"
#include "tasks/answer_model.h"

namespace fovea::app {

namespace {

int pack(const std::string& from, const std::string& to) {
  const std::string folder = find_model(from);
  check(!std::filesystem::exists(to), "{}: expected a new folder, got one that exists", to);
  const std::string task = task_of_model(folder);
  if (task == "answer") {
    save_packed_reader(to, load_reader(folder, Device::cpu()));
  } else if (task == "caption") {
    save_packed(to, load_captioner(folder, Device::cpu()));
  } else if (task == "classify" || task == "classify-images") {
    save_packed(to, load_classifier(folder, Device::cpu()));
  } else {
    save_packed(to, load_model(folder, Device::cpu()));
    const std::string shortlist = shortlist_path(folder);
    if (std::filesystem::exists(shortlist)) std::filesystem::copy_file(shortlist, shortlist_path(to));
  }
  const auto size = [](const std::string& of) {  // of all weights, in MB
    double bytes = 0;
    for (const auto& file : std::filesystem::directory_iterator(of)) {
      if (file.path().extension() == ".safetensors") bytes += static_cast<double>(file.file_size());
    }
    return bytes / 1e6;
  };
  fmt::print("{}: {:.1f} MB; {} is {:.1f} MB\n", to, size(to), folder, size(folder));
  return kDone;
}

}  // namespace

void add_pack(CLI::App& app, Run& run) {
  CLI::App* command = app.add_subcommand("pack", "Quantise a model to 8 bits, a quarter of its size on disk.");
  const auto from = std::make_shared<std::string>(), to = std::make_shared<std::string>();
  command->add_option("model", *from, "A model folder or the name of a shipped model.")->required()->type_name("DIR");
  command->add_option("output", *to, "Folder for the packed model.")->required()->type_name("DIR");
  command->callback([from, to, &run] { run = [from, to] { return pack(*from, *to); }; });
}

}  // namespace fovea::app
