#include "decode/options.h"

#include <gtest/gtest.h>

#include "base/fields.h"
#include "store/task_names.h"

namespace fovea {
namespace {

TEST(DefaultSearch, OfSummariesIsABeamWithoutRepeatedTrigrams) {
  const SearchOptions search = default_search("summarise");
  EXPECT_EQ(search.beam, 8);
  EXPECT_EQ(search.length_penalty, 1.2);
  EXPECT_EQ(search.no_repeat_ngram, 3);
}

TEST(DefaultSearch, OfOtherTasksIsGreedy) {
  SearchOptions plain;
  for (const char* task : {"sequence", "dialogue", "", "no task"}) {
    SearchOptions search = default_search(task);
    const Fields expected = fields_of(plain), got = fields_of(search);
    for (size_t i = 0; i < expected.list().size(); ++i) {
      EXPECT_EQ(got.list()[i].text(), expected.list()[i].text()) << task << " " << got.list()[i].key();
    }
  }
}

TEST(DefaultSearch, OfEveryTaskIsValid) {
  for (const TaskName& task : kTaskNames) {
    EXPECT_NO_THROW(check_options(default_search(task.name))) << task.name;
    SearchOptions copy = default_search(task.name);
    EXPECT_TRUE(unused_settings(copy).empty()) << task.name;
  }
}

}  // namespace
}  // namespace fovea
