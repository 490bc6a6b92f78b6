// How the program runs: what it loads when it starts, and that threads change nothing but the time.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "app/command.h"

namespace fovea {
namespace {

// Sets an environment variable for the commands of a test; null removes it.
class Environment {
 public:
  Environment(const char* name, const char* value) : name_(name) {
    if (const char* before = std::getenv(name)) before_ = before, was_set_ = true;
    value != nullptr ? setenv(name, value, 1) : unsetenv(name);
  }
  ~Environment() { was_set_ ? setenv(name_, before_.c_str(), 1) : unsetenv(name_); }
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

 private:
  const char* name_;
  std::string before_;
  bool was_set_ = false;
};

TEST(Running, AnyNumberOfThreadsPrintsTheSame) {
  const char* kSubjects[] = {"I", "The old man next door", "My sister and her friends", "Nobody"};
  const char* kRest[] = {"know.",        "went home.",     "would like to have a cup of tea before we leave.",
                         "is reading.",  "can swim well.", "bought three books about the history of music yesterday.",
                         "has no idea.", "ran away.",      "will wait for you at the station until the train comes."};
  std::string text = "\n";
  for (const char* subject : kSubjects) {
    for (const char* rest : kRest) text += std::string(subject) + " " + rest + "\n";
  }
  text += "\nYes.\n\n";
  for (const char* precision : {"f32", "bf16", "int8"}) {
    for (const char* beam : {"1", "4"}) {
      const auto translated = [&](const char* threads) {
        return fovea_command({"translate", "-m", "en-zh", "--json", "--precision", precision, "--beam", beam,
                              "--batch-tokens", "40", "--threads", threads},
                             text);
      };
      const Outcome one = translated("1");
      EXPECT_EQ(one.status, 0) << one.err;
      EXPECT_EQ(std::count(one.out.begin(), one.out.end(), '\n'), 40);
      for (const char* threads : {"2", "5"})
        EXPECT_EQ(translated(threads).out, one.out) << precision << ", " << threads;
    }
  }
}

TEST(Running, AModelThatIsStoredInEightBitsComputesInInt8) {
  const auto computed = [](const std::vector<std::string>& more) {
    std::vector<std::string> command = {"translate", "-m", "en-zh", "--json", "--device", "cpu"};
    command.insert(command.end(), more.begin(), more.end());
    const Outcome outcome = fovea_command(command, "Yes.\n");
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    const size_t begin = outcome.out.find("\"precision\":\"");
    return begin == std::string::npos ? "" : outcome.out.substr(begin + 13, 4);
  };
  EXPECT_EQ(computed({}), "int8");
  EXPECT_EQ(computed({"--precision", "f32"}), "f32\"");
}

TEST(Running, LibrariesForPicturesAreNotLoadedAtTheStart) {
  const Environment trace("LD_TRACE_LOADED_OBJECTS", "1");
  const Outcome outcome = fovea_command({"--version"});
  if (outcome.out.find("libc.so") == std::string::npos) GTEST_SKIP() << "this loader does not list libraries";
  for (const char* library : {"librsvg", "libcairo", "libglib", "libfontconfig"}) {
    EXPECT_EQ(outcome.out.find(library), std::string::npos) << library;
  }
}

}  // namespace
}  // namespace fovea
