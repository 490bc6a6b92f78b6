#include "interchange/samples.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

namespace fovea {

namespace {

constexpr int64_t kMaxLength = 12;  // as in make_fixtures.py

// The logits of a known target, [T,V] in the order of their ids.
std::vector<std::vector<float>> logits_of(const LoadedModel& model, const ForeignModel& foreign,
                                          const std::vector<int32_t>& source, const std::vector<int32_t>& target) {
  std::vector<int32_t> ids = source, before = {kBegin};
  if (model.config.end_source) ids.push_back(kEnd);
  before.insert(before.end(), target.begin(), target.end());
  const auto column = [](const std::vector<int32_t>& of) { return from_host(of, {std::ssize(of), 1}, Device::cpu()); };
  const TeacherForced forced = model.model->teacher_force({.ids = column(ids)}, column(before));
  const std::vector<float> all = to_host<float>(forced.logits.value());
  const size_t words = foreign.target_order.row.size();
  std::vector<std::vector<float>> rows;
  for (size_t t = 0; t < before.size(); ++t) {
    std::vector<float>& row = rows.emplace_back(static_cast<size_t>(foreign.target_order.theirs));
    for (size_t id = 0; id < words; ++id) {
      const int64_t theirs = foreign.target_order.row[id];
      if (theirs >= 0 && !foreign.target_order.never[id]) row[static_cast<size_t>(theirs)] = all[t * words + id];
    }
  }
  return rows;
}

std::vector<int64_t> their_ids(const TokenOrder& order, const std::vector<int32_t>& ours) {
  std::vector<int64_t> theirs;
  for (const int32_t id : ours) theirs.push_back(order.row[static_cast<size_t>(id)]);
  return theirs;
}

std::vector<int32_t> our_ids(const TokenOrder& order, const std::vector<int64_t>& theirs) {
  std::vector<int32_t> ours;
  for (const int64_t id : theirs) {
    ours.push_back(static_cast<int32_t>(std::find(order.row.begin(), order.row.end(), id) - order.row.begin()));
  }
  return ours;
}

}  // namespace

std::string sample_folder(const std::string& name) { return std::string(FOVEA_INTERCHANGE) + "/" + name; }

std::string bytes_of_file(const std::string& path) {
  std::ostringstream bytes;
  bytes << std::ifstream(path, std::ios::binary).rdbuf();
  return bytes.str();
}

nlohmann::json expected_of(const std::string& name) {
  return nlohmann::json::parse(bytes_of_file(sample_folder(name) + "/expected.json"));
}

Translator translator_of(const std::string& folder) {
  return Translator({folder}, {.device = "cpu", .precision = "f32"});
}

std::vector<std::string> texts_at(const nlohmann::json& cases, const std::string& key) {
  std::vector<std::string> texts;
  for (const auto& item : cases) texts.push_back(item[key]);
  return texts;
}

std::vector<std::string> translations(const Translator& translator, const nlohmann::json& cases, int64_t beam) {
  SearchOptions search;
  search.beam = beam;
  search.length_penalty = 0;
  search.max_length = kMaxLength;
  search.max_ratio = 0;
  std::vector<std::string> texts;
  for (const Translation& translation : translator.translate(texts_at(cases, "line"), search)) {
    texts.push_back(translation.text());
  }
  return texts;
}

void expect_as_reference(const std::string& folder, const nlohmann::json& cases, const ForeignModel& foreign) {
  const LoadedModel model = load_model(folder, Device::cpu());
  for (const auto& item : cases) {
    const std::string line = item["line"];
    const std::vector<int32_t> source = model.source->encode(line);
    std::vector<int64_t> theirs = their_ids(foreign.source_order, source);
    if (model.config.end_source) theirs.push_back(foreign.source_order.row[kEnd]);
    EXPECT_EQ(theirs, item["source"].get<std::vector<int64_t>>()) << line;
    if (!item.contains("logits")) continue;
    const std::vector<int32_t> target = our_ids(foreign.target_order, item["greedy"].get<std::vector<int64_t>>());
    const auto logits = logits_of(model, foreign, source, target);
    const auto expected = item["logits"].get<std::vector<std::vector<float>>>();
    ASSERT_EQ(logits.size(), expected.size());
    for (size_t t = 0; t < logits.size(); ++t) {
      ASSERT_EQ(logits[t].size(), expected[t].size());
      for (size_t i = 0; i < logits[t].size(); ++i) EXPECT_NEAR(logits[t][i], expected[t][i], 1e-4) << line << " " << t;
    }
  }
  const Translator translator = translator_of(folder);
  EXPECT_EQ(translations(translator, cases, 1), texts_at(cases, "greedy_text"));
  EXPECT_EQ(translations(translator, cases, 4), texts_at(cases, "beam_text"));
}

}  // namespace fovea
