// Tasks are found by name, in recipes and in model folders, and models of earlier versions are sequence models.
#include <gtest/gtest.h>

#include "base/files.h"
#include "store/model_folder.h"
#include "support.h"
#include "temporary_folder.h"
#include "train/small_run.h"

namespace fovea {
namespace {

TEST(Tasks, AreFoundByName) {
  for (size_t i = 0; i < kTaskNames.size(); ++i) {
    EXPECT_EQ(tasks()[i].name, kTaskNames[i].name);
    EXPECT_EQ(&task_named(kTaskNames[i].name), &tasks()[i]);
    EXPECT_FALSE(tasks()[i].help.empty());
  }
  EXPECT_ERROR(task_named("sequins"), "task: expected one of sequence");
}

TEST(Tasks, ALoadedModelAnswers) {
  const TemporaryFolder folder;
  Recipe recipe = small_recipe(folder.file("run"));
  recipe.training.steps = 1;
  train(recipe, Start::kNew);
  EXPECT_EQ(task_of_model(recipe.folder), "sequence");
  const std::vector<std::string> inputs = {"a b c", ""};
  const auto outputs = load_predictor(recipe.folder)->predict(inputs);
  ASSERT_EQ(outputs.size(), 2u);
  EXPECT_EQ(outputs[1], "");
}

// Text to text has one implementation under several names; config.json remembers the name.
TEST(Tasks, EveryTaskFromTextToTextLoadsAsAModel) {
  for (const TaskName& name : kTaskNames) {
    if (!name.text_to_text) continue;
    const TemporaryFolder folder;
    Recipe recipe = small_recipe(folder.file("run"));
    recipe.task = name.name;
    recipe.training.steps = 1;
    train(recipe, Start::kNew);
    EXPECT_EQ(task_of_model(recipe.folder), name.name);
    EXPECT_EQ(load_model(recipe.folder, Device::cpu()).config.task, name.name);
    EXPECT_EQ(load_predictor(recipe.folder)->predict(std::vector<std::string>{""}).front(), "");
  }
  EXPECT_TRUE(is_text_to_text("summarise"));
  EXPECT_FALSE(is_text_to_text("summarize"));
}

void replace_in_file(const std::string& path, const std::string& text, const std::string& by) {
  std::string bytes = read_file(path);
  const size_t at = bytes.find(text);
  ASSERT_NE(at, std::string::npos) << path << ": " << text;
  write_file_atomically(path, bytes.replace(at, text.size(), by));
}

// Runs and models of earlier versions do not name a task.
TEST(Tasks, WithoutANameTheTaskIsSequence) {
  const TemporaryFolder folder;
  Recipe recipe = small_recipe(folder.file("run"));
  recipe.training.steps = 2;
  train(recipe, Start::kNew);
  replace_in_file(recipe.folder + "/recipe.toml", "task = \"sequence\"\n", "");
  replace_in_file(recipe.folder + "/config.json", "\"task\": \"sequence\",", "");
  EXPECT_EQ(task_of_model(recipe.folder), "sequence");
  EXPECT_EQ(load_model(recipe.folder, Device::cpu()).config.task, "sequence");
  std::vector<std::string> warnings;
  const Recipe saved =
      read_recipe(recipe.folder + "/recipe.toml", std::vector<std::string>{"training.steps=3"}, &warnings);
  EXPECT_TRUE(warnings.empty()) << warnings.front();
  EXPECT_EQ(train(saved, Start::kResume).steps, 3);
  replace_in_file(recipe.folder + "/recipe.toml", "task = \"sequence\"", "task = \"other\"");
  EXPECT_ERROR(read_recipe(recipe.folder + "/recipe.toml"), "task: expected one of sequence");
  replace_in_file(recipe.folder + "/config.json", "{", "{\"task\": \"other\",");
  EXPECT_ERROR(load_model(recipe.folder, Device::cpu()),
               "expected a model from text to text (task sequence, summarise, dialogue), got one of the task other");
  EXPECT_ERROR(load_predictor(recipe.folder), "task: expected one of sequence");
}

}  // namespace
}  // namespace fovea
