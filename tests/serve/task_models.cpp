#include "serve/task_models.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

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

}  // namespace fovea
