#include "tensor/step_graphs.h"

#include <gtest/gtest.h>

#include <set>
#include <vector>

namespace fovea {
namespace {

uint64_t id_of(HistoryIds& ids, const std::vector<uint64_t>& events) {
  uint64_t history = HistoryIds::kEmpty;
  for (const uint64_t event : events) history = ids.extend(history, event);
  return history;
}

TEST(HistoryIds, EqualHistoriesShareAnId) {
  HistoryIds ids;
  const uint64_t id = id_of(ids, {7, 0, 12});
  EXPECT_NE(id_of(ids, {7, 0}), id);
  EXPECT_EQ(id_of(ids, {7, 0, 12}), id);
}

TEST(HistoryIds, DifferentHistoriesNeverShareAnId) {
  HistoryIds ids;
  std::set<uint64_t> found = {HistoryIds::kEmpty};
  const std::vector<std::vector<uint64_t>> histories = {{0}, {0, 0}, {1}, {1, 2}, {2, 1}, {12}, {1, 2, 0}};
  for (const std::vector<uint64_t>& history : histories) EXPECT_TRUE(found.insert(id_of(ids, history)).second);
}

// A 64-bit hash that mixes in one event after the other gives these two histories the same key.
TEST(HistoryIds, AreNoHash) {
  const auto mixed = [](uint64_t hash, uint64_t event) {
    hash = (hash ^ event) * 0x9E3779B97F4A7C15u;
    return hash ^ hash >> 32;
  };
  const uint64_t last = 5, other_last = last ^ mixed(0, 1) ^ mixed(0, 2);
  ASSERT_EQ(mixed(mixed(0, 1), last), mixed(mixed(0, 2), other_last));
  HistoryIds ids;
  EXPECT_NE(id_of(ids, {1, last}), id_of(ids, {2, other_last}));
}

// The table is bounded: when it is emptied, histories get new ids, and no id is given twice.
TEST(HistoryIds, StayExactWhenTheTableIsFull) {
  HistoryIds ids;
  std::set<uint64_t> found;
  const uint64_t kept = ids.extend(HistoryIds::kEmpty, 1);
  found.insert(kept);
  for (uint64_t event = 2; event < 200'000; ++event) {
    ASSERT_TRUE(found.insert(ids.extend(HistoryIds::kEmpty, event)).second);
  }
  EXPECT_TRUE(found.insert(ids.extend(kept, 1)).second);
}

}  // namespace
}  // namespace fovea
