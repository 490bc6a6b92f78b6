#include "store/shipped.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "base/files.h"
#include "support.h"
#include "temporary_folder.h"

namespace fovea {
namespace {

// Two folders of models, found through the environment.
class Shipped : public ::testing::Test {
 protected:
  Shipped() {
    make(first_, "en-zh");
    make(first_, "phonemes");
    make(second_, "en-zh");
    make(second_, "zh-en");
    std::filesystem::create_directories(first_.file("empty"));
    ::setenv("FOVEA_MODELS", (first_.path() + ":" + second_.path()).c_str(), 1);
  }
  ~Shipped() override { ::unsetenv("FOVEA_MODELS"); }

  static void make(const TemporaryFolder& folder, const std::string& name) {
    std::filesystem::create_directories(folder.file(name));
    for (const char* file : {"/config.json", "/model.safetensors"}) write_file_atomically(folder.file(name) + file, "");
  }

  TemporaryFolder first_, second_;
};

TEST_F(Shipped, TheSearchPathStartsWithTheEnvironment) {
  const std::vector<std::string> path = model_search_path();
  ASSERT_GE(path.size(), 3U);
  EXPECT_EQ(path[0], first_.path());
  EXPECT_EQ(path[1], second_.path());
  EXPECT_EQ(path[2], "models");
}

TEST_F(Shipped, ModelsAreFoundByTheirNames) {
  EXPECT_EQ(find_model("phonemes"), first_.file("phonemes"));
  EXPECT_EQ(find_model("en-zh"), first_.file("en-zh"));  // of equal names the first
  EXPECT_EQ(find_model("zh-en"), second_.file("zh-en"));
  EXPECT_EQ(find_model(first_.path()), first_.path());    // what is there is taken as it is
  EXPECT_EQ(find_model("runs/nowhere"), "runs/nowhere");  // and so is a path, for whoever opens it to complain
  EXPECT_ERROR(find_model("de-fr"), "de-fr: there is no such model folder");
  EXPECT_ERROR(find_model("empty"), "there is no such model folder");
}

TEST_F(Shipped, TheTextSaysWhichWay) {
  EXPECT_EQ(model_for("I love you."), first_.file("en-zh"));
  EXPECT_EQ(model_for("我爱你。"), second_.file("zh-en"));
  EXPECT_EQ(model_for(""), first_.file("en-zh"));
}

TEST(ShippedOfATask, IsChosenByTheLanguageOfTheText) {
  const TemporaryFolder folder;
  const auto make = [&](const std::string& name, const std::string& task, const std::string& language) {
    std::filesystem::create_directories(folder.file(name));
    write_file_atomically(folder.file(name) + "/config.json", R"({"task": ")" + task + R"("})");
    write_file_atomically(folder.file(name) + "/model.safetensors", "");
    write_file_atomically(folder.file(name) + "/about.json", R"({"source_language": ")" + language + R"("})");
  };
  make("a", "sequence", "zh");
  make("b", "one-of-ours", "en");
  make("c", "one-of-ours", "zh");
  ::setenv("FOVEA_MODELS", folder.path().c_str(), 1);
  EXPECT_EQ(model_of_task("one-of-ours", "good"), folder.file("b"));
  EXPECT_EQ(model_of_task("one-of-ours", "很好"), folder.file("c"));
  EXPECT_EQ(model_of_task("one-of-ours", ""), folder.file("b"));
  EXPECT_ERROR(model_of_task("another", ""), "expected --model: no model of the task another was found");
  ::unsetenv("FOVEA_MODELS");
}

}  // namespace
}  // namespace fovea
