// Event files of TensorBoard, read back by tests/read_events.py, which shares no code with the writer.
#include "train/event_file.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "temporary_folder.h"
#include "train/small_run.h"

namespace fovea {
namespace {

using Json = nlohmann::json;

std::vector<std::string> event_files(const std::string& folder) {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().filename().string().starts_with("events.out.tfevents.")) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

// The events of a file as JSON.
std::vector<Json> read_events(const std::string& path) {
  const std::string command = "python3 " FOVEA_READ_EVENTS " " + path + " 2>&1";
  FILE* pipe = popen(command.c_str(), "r");
  std::string text;
  for (int c = 0; (c = std::fgetc(pipe)) != EOF;) text += static_cast<char>(c);
  EXPECT_EQ(pclose(pipe), 0) << text;
  std::vector<Json> events;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) events.push_back(Json::parse(line));
  return events;
}

TEST(EventFile, ChecksumsAreThoseOfTheStandard) {  // RFC 3720, B.4
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8A9136AAu);
  EXPECT_EQ(crc32c(std::string(32, '\xFF')), 0x62A8AB43u);
  EXPECT_EQ(crc32c("123456789"), 0xE3069283u);
}

TEST(EventFile, ARunWritesTheNumbersOfItsMetrics) {
  const TemporaryFolder folder;
  Recipe recipe = small_recipe(folder.file("run"));
  recipe.training.tensorboard = true;
  recipe.report_every = 2;
  train(recipe, Start::kNew);
  const std::vector<std::string> files = event_files(recipe.folder);
  ASSERT_EQ(files.size(), 1u);
  std::map<std::pair<int64_t, std::string>, double> scalars;
  const std::vector<Json> events = read_events(files[0]);
  EXPECT_EQ(events.at(0).at("file_version"), "brain.Event:2");
  EXPECT_EQ(events.at(1).at("session"), 1);
  for (const Json& event : events) {
    EXPECT_GT(event.at("wall_time"), 1.6e9);
    for (const auto& [tag, value] : event["scalars"].items()) scalars[{event.at("step"), tag}] = value;
  }
  std::istringstream metrics(read_file(metrics_path(recipe.folder)));
  size_t numbers = 0;
  for (std::string line; std::getline(metrics, line);) {
    const Json json = Json::parse(line);
    for (const auto& [key, value] : json.items()) {
      if (!value.is_number() || key == "step") continue;
      const auto found = scalars.find({json["step"], json["event"].get<std::string>() + "/" + key});
      ASSERT_NE(found, scalars.end()) << line << key;
      EXPECT_EQ(found->second, value.get<float>());
      ++numbers;
    }
  }
  EXPECT_EQ(numbers, scalars.size());
  EXPECT_GT(numbers, 20u);
}

TEST(EventFile, AResumedRunAddsAFileThatStartsAfterItsCheckpoint) {
  const TemporaryFolder folder;
  Recipe recipe = small_recipe(folder.file("run"));
  recipe.training.tensorboard = true;
  recipe.training.steps = 4;
  train(recipe, Start::kNew);
  recipe.training.steps = 6;
  train(recipe, Start::kResume);
  const std::vector<std::string> files = event_files(recipe.folder);
  ASSERT_EQ(files.size(), 2u);
  const Json started = read_events(files[1]).at(1);
  EXPECT_EQ(started.at("session"), 1);
  EXPECT_EQ(started.at("step"), 5);
  train(recipe, Start::kOverwrite);
  EXPECT_EQ(event_files(recipe.folder).size(), 1u);
}

TEST(EventFile, IsWrittenOnRequestOnly) {
  const TemporaryFolder folder;
  const Recipe recipe = small_recipe(folder.file("run"));
  train(recipe, Start::kNew);
  EXPECT_TRUE(event_files(recipe.folder).empty());
}

}  // namespace
}  // namespace fovea
