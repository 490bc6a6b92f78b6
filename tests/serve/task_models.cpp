#include "serve/task_models.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <vector>

#include "app/command.h"
#include "base/files.h"

namespace fovea {

namespace {

constexpr const char* kSizes = R"(
[model]
embedding = 8
hidden = 8
[training]
steps = 4
)";

void train(const std::string& folder, const std::string& name, const std::string& task, const std::string& data,
           const std::string& settings) {
  const std::string file = folder + "/" + name + ".data", recipe = folder + "/" + name + ".toml";
  write_file_atomically(file, data);
  write_file_atomically(recipe, fmt::format("task = \"{}\"\nfolder = \"{}/{}\"\nthreads = 1\n[data]\ntrain = \"{}\"\n"
                                            "held_out = 2\n{}{}",
                                            task, folder, name, file, settings, kSizes));
  const Outcome trained = fovea_command({"train", recipe});
  ASSERT_EQ(trained.status, 0) << name << ": " << trained.err;
}

constexpr const char* kVision = R"(
images = "{}"
[target_vocabulary]
kind = "word"
[vision]
network = "resnet-small"
size = 32
frozen = false
depth = 8
[model]
architecture = "bahdanau"
embedding = 16
hidden = 16
[batch]
sentences = 12
[training]
steps = 40
learning_rate = 1e-2
)";

constexpr const char* kWords = "[source_vocabulary]\nkind = \"word\"\n[target_vocabulary]\nkind = \"word\"\n";

}  // namespace

void train_task_models(const std::string& folder) {
  std::string reviews, questions, talk, titles;
  for (int i = 0; i < 20; ++i) {
    reviews += fmt::format("good\ta fine film {}\nbad\ta dull film {}\nneither\ta film {}\n", i, i, i);
    const std::string context = fmt::format("the bridge was built in {} by the queen .", 1900 + i);
    questions += fmt::format(
        R"({{"id": "{}", "context": "{}", "question": "when was it built ?", "answers": [{{"text": "{}", "start": 24}}]}})"
        "\n",
        i, context, 1900 + i);
    talk +=
        fmt::format("<a> hello {}\thi there\n<a> hello {} <turn> <b> hi there <turn> <a> how are you\tfine\n", i, i);
    titles += fmt::format("a long text about the bridge {}\tbridge {}\n", i, i);
  }
  train(folder, "reviews", "classify", reviews,
        "[source_vocabulary]\nkind = \"word\"\n[classify]\npooling = \"structured\"\nhops = 2\n");
  train(folder, "reader", "answer", questions, "[source_vocabulary]\nkind = \"word\"\n");
  train(folder, "talk", "dialogue", talk, kWords);
  train(folder, "titles", "summarise", titles, kWords);
  write_file_atomically(folder + "/reader/about.json",
                        R"({"examples": [{"passage": "the bridge .", "question": "what ?"}]})");
  write_file_atomically(folder + "/talk/about.json", R"({"examples": ["hello", ["hello", "hi", "how are you"]]})");
}

Image drawn_picture(int colour, int64_t width, int64_t height) {
  Image image{width, height, std::vector<uint8_t>(static_cast<size_t>(width * height * 3), 20)};
  for (int64_t y = height / 4; y < 3 * height / 4; ++y) {
    for (int64_t x = width / 4; x < 3 * width / 4; ++x) {
      image.pixels[static_cast<size_t>((y * width + x) * 3 + colour)] = 250;
    }
  }
  return image;
}

void train_captioner(const std::string& folder) {
  const std::vector<std::string> colours = {"red", "green", "blue"};
  std::filesystem::create_directories(folder + "/drawn");
  std::string captions;
  for (int i = 0; i < 3; ++i) {
    write_file_atomically(fmt::format("{}/drawn/{}.png", folder, i), encode_png(drawn_picture(i)));
    captions += fmt::format("{}.png\ta {} square\n", i, colours[static_cast<size_t>(i)]);
  }
  write_file_atomically(folder + "/captions.tsv", captions);
  const std::string recipe = folder + "/captions.toml";
  write_file_atomically(recipe,
                        fmt::format("task = \"caption\"\nfolder = \"{0}/pictures\"\nthreads = 1\n[data]\ntrain = "
                                    "\"{0}/captions.tsv\"\nvalid = \"{0}/captions.tsv\"\n",
                                    folder) +
                            fmt::format(kVision, folder + "/drawn"));
  const Outcome trained = fovea_command({"train", recipe});
  ASSERT_EQ(trained.status, 0) << trained.err;
}

}  // namespace fovea
