#include "train/schedule.h"

#include <gtest/gtest.h>

#include "recipe/recipe.h"

namespace fovea {
namespace {

TrainingConfig config(const std::string& schedule, int64_t warmup) {
  TrainingConfig c;
  c.learning_rate = 0.5;
  c.schedule = schedule;
  c.warmup = warmup;
  return c;
}

TEST(Schedule, WarmsUpInAStraightLine) {
  for (const std::string& name : schedule_names()) {
    const Schedule schedule(config(name, 10));
    EXPECT_DOUBLE_EQ(schedule.rate(1, 0), 0.05) << name;
    EXPECT_DOUBLE_EQ(schedule.rate(5, 0), 0.25) << name;
    EXPECT_DOUBLE_EQ(schedule.rate(10, 0), 0.5) << name;
  }
}

TEST(Schedule, FallsAsItsNameSays) {
  EXPECT_DOUBLE_EQ(Schedule(config("constant", 0)).rate(1000, 0.9), 0.5);
  EXPECT_DOUBLE_EQ(Schedule(config("inverse-sqrt", 10)).rate(40, 0.9), 0.25);
  const Schedule cosine(config("cosine", 0));
  EXPECT_DOUBLE_EQ(cosine.rate(1, 0), 0.5);
  EXPECT_NEAR(cosine.rate(1, 0.5), 0.5 * (0.01 + 0.99 * 0.5), 1e-12);
  EXPECT_NEAR(cosine.rate(1, 1), 0.005, 1e-12);
}

TEST(Schedule, APlateauLowersTheRate) {
  TrainingConfig c = config("plateau", 0);
  c.plateau_patience = 2;
  Schedule schedule(c);
  EXPECT_FALSE(schedule.validated(true));
  EXPECT_FALSE(schedule.validated(false));
  EXPECT_FALSE(schedule.validated(true));
  EXPECT_FALSE(schedule.validated(false));
  EXPECT_TRUE(schedule.validated(false));
  EXPECT_DOUBLE_EQ(schedule.rate(1, 0), 0.25);
  Schedule again(c);
  again.set_state(schedule.state());
  EXPECT_DOUBLE_EQ(again.rate(1, 0), 0.25);
}

}  // namespace
}  // namespace fovea
