// A model of a few steps that tests of the program may read.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "app/command.h"
#include "temporary_folder.h"

namespace fovea {

inline constexpr const char* kRecipe = R"(
[data]
generator = "reverse"
generated = 300
generated_valid = 10
[source_vocabulary]
kind = "word"
[target_vocabulary]
kind = "word"
[model]
architecture = "luong"
embedding = 8
hidden = 12
[training]
steps = 3
)";

// A model that all tests may read.
class App : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder = new TemporaryFolder;
    const Outcome trained = fovea_command({"train", recipe(), "--set", "folder=" + model()});
    ASSERT_EQ(trained.status, 0) << trained.err;
    ASSERT_NE(trained.out.find("model saved in " + model()), std::string::npos) << trained.out;
  }
  static void TearDownTestSuite() { delete folder; }
  static std::string recipe() { return folder->file("recipe.toml", kRecipe); }
  static std::string model() { return folder->file("model"); }

  // It failed as it should: with this status, saying this, and nothing on standard output.
  static void expect_failure(const std::vector<std::string>& arguments, int status, const std::string& says,
                             const std::string& input = {}) {
    const Outcome got = fovea_command(arguments, input);
    EXPECT_EQ(got.status, status) << got.err;
    EXPECT_NE(got.err.find(says), std::string::npos) << got.err;
    EXPECT_EQ(got.out, "");
  }

  static inline TemporaryFolder* folder = nullptr;
};

}  // namespace fovea
