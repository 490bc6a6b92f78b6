// The models in tests/interchange/models, and what they answer: both made by make_fixtures.py.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "decode/translator.h"
#include "store/foreign_folder.h"

namespace fovea {

// For std::filesystem::copy of a sample.
constexpr auto kCopy = std::filesystem::copy_options::recursive | std::filesystem::copy_options::overwrite_existing;

std::string sample_folder(const std::string& name);
nlohmann::json expected_of(const std::string& name);
std::string bytes_of_file(const std::string& path);

Translator translator_of(const std::string& folder);
// The translations of the lines of an expected.json, by a search of this size without a length penalty.
std::vector<std::string> translations(const Translator& translator, const nlohmann::json& cases, int64_t beam);
std::vector<std::string> texts_at(const nlohmann::json& cases, const std::string& key);

// Compares everything with expected.json: ids, logits, greedy and beam search.
void expect_as_reference(const std::string& folder, const nlohmann::json& cases, const ForeignModel& foreign);

}  // namespace fovea
