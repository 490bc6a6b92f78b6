// Compares every case file under data/ with every setting to sacreBLEU's own results in data/expected.json, which
// make_expected.py writes.
#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "evaluate/bleu.h"
#include "evaluate/chrf.h"
#include "support.h"

namespace fovea {
namespace {

using Json = nlohmann::json;
namespace fs = std::filesystem;

constexpr const char* kData = FOVEA_EVALUATE_DATA;

const Json& expected() {
  static const Json json = [] {
    std::ifstream file(fs::path(kData) / "expected.json");
    check(file.good(), "expected.json: expected it beside the case files; make_expected.py writes it");
    return Json::parse(file);
  }();
  return json;
}

std::vector<std::string> read_lines(const fs::path& path) {
  std::ifstream file(path);
  check(file.good(), "{}: cannot be read", path.string());
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

struct Case {
  std::vector<std::string> hypotheses;
  std::vector<std::vector<std::string>> references;  // one list for each file
  std::vector<Segment> segments;
};

std::map<std::string, Case> read_cases() {
  std::set<fs::path> paths;  // sorted
  for (const auto& entry : fs::directory_iterator(kData)) paths.insert(entry.path());
  std::map<std::string, Case> cases;
  for (const fs::path& path : paths) {
    if (path.extension() == ".hyp") cases[path.stem()].hypotheses = read_lines(path);
    if (path.extension().string().starts_with(".ref")) cases[path.stem()].references.push_back(read_lines(path));
  }
  for (auto& [name, one] : cases) one.segments = make_segments(one.hypotheses, one.references);
  return cases;
}

// The expected results of one kind with their cases; every case must have one.
template <class Body> void for_each_record(const std::string& kind, Body body) {
  const std::map<std::string, Case> cases = read_cases();
  std::set<std::string> seen;
  for (const Json& record : expected().at(kind)) {
    const std::string name = record.at("case");
    SCOPED_TRACE(fmt::format("{} {} {}", kind, name, record.value("signature", record.value("tokenizer", ""))));
    seen.insert(name);
    body(cases.at(name), record);
  }
  EXPECT_EQ(seen.size(), cases.size()) << "expected.json is older than the case files";
}

void expect_near(double got, const Json& want, const std::string& what) {
  const double value = want;
  EXPECT_LE(std::abs(got - value), 1e-9 * std::abs(value)) << what << ": expected " << value << ", got " << got;
}

std::vector<std::string> joined_tokens(const std::vector<std::string>& lines, const Json& record) {
  std::vector<std::string> out;
  for (const std::string& line : lines) {
    const auto tokens =
        tokenize(line, tokenizer_named(record.at("tokenizer").get<std::string>()), record.at("lowercase").get<bool>());
    out.push_back(fmt::format("{}", fmt::join(tokens, " ")));
  }
  return out;
}

TEST(Sacrebleu, IsTheVersionNamed) { EXPECT_EQ(expected().at("version"), kSacrebleuVersion); }

TEST(Sacrebleu, TokenisesLinesTheSame) {
  for_each_record("tokens", [](const Case& one, const Json& record) {
    EXPECT_EQ(joined_tokens(one.hypotheses, record), record.at("hypotheses").get<std::vector<std::string>>());
    for (size_t i = 0; i < one.references.size(); ++i)
      EXPECT_EQ(joined_tokens(one.references[i], record),
                record.at("references").at(i).get<std::vector<std::string>>());
  });
}

BleuOptions bleu_options(const Json& record) {
  BleuOptions options{.tokenizer = tokenizer_named(record.at("tokenize").get<std::string>()),
                      .smoothing = smoothing_named(record.at("smooth_method").get<std::string>()),
                      .lowercase = record.at("lowercase")};
  if (!record.at("smooth_value").is_null()) options.smooth_value = record.at("smooth_value").get<double>();
  return options;
}

TEST(Sacrebleu, GivesCorporaTheSameBleu) {
  for_each_record("bleu", [](const Case& one, const Json& record) {
    const BleuOptions options = bleu_options(record);
    const BleuScore bleu = corpus_bleu(one.segments, options);
    expect_near(bleu.score, record.at("score"), "score");
    expect_near(bleu.brevity_penalty, record.at("bp"), "brevity penalty");
    for (size_t n = 0; n < kBleuOrder; ++n) {
      expect_near(bleu.precisions[n], record.at("precisions").at(n), "precision");
      if (options.smoothing == Smoothing::kAddK) continue;  // sacreBLEU then shows counts with k added
      EXPECT_EQ(bleu.matches[n], record.at("counts").at(n));
      EXPECT_EQ(bleu.totals[n], record.at("totals").at(n));
    }
    EXPECT_EQ(bleu.hypothesis_length, record.at("sys_len"));
    EXPECT_EQ(bleu.reference_length, record.at("ref_len"));
    EXPECT_EQ(bleu.line(), record.at("line"));
    EXPECT_EQ(bleu_signature(one.segments, options), record.at("signature"));
  });
}

TEST(Sacrebleu, GivesSentencesTheSameBleu) {
  for_each_record("bleu", [](const Case& one, const Json& record) {
    for (size_t i = 0; i < one.segments.size(); ++i)
      expect_near(sentence_bleu(one.segments[i], bleu_options(record)).score, record.at("sentences").at(i),
                  one.hypotheses[i]);
  });
}

TEST(Sacrebleu, GivesTheSameChrf) {
  for_each_record("chrf", [](const Case& one, const Json& record) {
    const ChrfOptions options{.char_order = record.at("char_order"),
                              .word_order = record.at("word_order"),
                              .beta = record.at("beta"),
                              .lowercase = record.at("lowercase"),
                              .whitespace = record.at("whitespace"),
                              .eps_smoothing = record.at("eps_smoothing")};
    const ChrfScore chrf = corpus_chrf(one.segments, options);
    expect_near(chrf.score, record.at("score"), "score");
    EXPECT_EQ(chrf.line(), record.at("line"));
    EXPECT_EQ(chrf_signature(one.segments, options), record.at("signature"));
    for (size_t i = 0; i < one.segments.size(); ++i)
      expect_near(sentence_chrf(one.segments[i], options).score, record.at("sentences").at(i), one.hypotheses[i]);
  });
}

}  // namespace
}  // namespace fovea
