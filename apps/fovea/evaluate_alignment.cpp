#include "fovea/evaluate_alignment.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/thousands.h"
#include "fovea/commands.h"
#include "fovea/console.h"
#include "store/shipped.h"
#include "text/lines.h"
#include "view/align.h"

namespace fovea::app {

namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kPairsAtOnce = 1024;  // pairs whose weights are in memory

// A way to read alignments from the attention heads, and its score.
struct Row {
  std::string name;
  ReduceOptions heads;
  AlignOptions align;
  AlignmentScore score;
};

std::vector<GoldAlignment> read_gold(const std::string& path, int64_t first) {
  LineReader reader(path);
  std::vector<GoldAlignment> gold;
  for (std::string line; reader.next(line);) gold.push_back(parse_pharaoh(line, first, reader.place()));
  check(!gold.empty(), "{}: expected alignments, got none", path);
  return gold;
}

// Every head by itself, then combinations of heads, by the step that predicts a target token and by the step after it.
std::vector<Row> rows_for(const RecordedAttention& cross, bool rolls_out) {
  std::vector<Row> rows;
  for (int64_t layer = 1; layer <= cross.layers; ++layer) {
    for (int64_t head = 1; head <= cross.heads; ++head) {
      rows.push_back({fmt::format("layer {} head {}", layer, head), {.heads = "one", .layer = layer, .head = head}});
    }
    if (cross.heads == 1) continue;
    rows.push_back({fmt::format("layer {} mean", layer), {.heads = "mean", .layer = layer}});
    rows.push_back({fmt::format("layer {} max", layer), {.heads = "max", .layer = layer}});
  }
  if (cross.layers > 1) {
    rows.push_back({"mean of all", {.heads = "mean"}});
    rows.push_back({"max of all", {.heads = "max"}});
  }
  if (rolls_out) rows.push_back({"rollout", {.heads = "rollout"}});
  const size_t count = rows.size();
  for (size_t i = 0; i < count; ++i) {
    Row row = rows[i];
    row.name += ", input step";
    row.heads.step = "input";
    rows.push_back(std::move(row));
  }
  return rows;
}

std::vector<Row> measure_heads(const AlignmentTest& test, const Translator& translator,
                               const std::vector<GoldAlignment>& gold) {
  const ParallelLines lines = read_parallel(test.source, test.target);
  check(lines.source.size() == gold.size(), "{}: expected {} lines, as {} has, got {}", test.gold, lines.source.size(),
        test.source, gold.size());
  Console console(stderr);
  std::vector<Row> rows;
  for (size_t at = 0; at < gold.size(); at += kPairsAtOnce) {
    const size_t count = std::min(kPairsAtOnce, gold.size() - at);
    const std::vector<SharedLine> sources =
        translator.tokenise_source(std::span(lines.source).subspan(at, count), Offsets::kTokens);
    const std::vector<SharedLine> targets = translator.tokenise_target(std::span(lines.target).subspan(at, count));
    const std::vector<Hypothesis> forced = translator.score(sources, targets, {.capture_weights = true});
    for (size_t i = 0; i < count; ++i) {
      const AttentionRecord record = translator.record(*sources[i], forced[i]);
      const auto find = [&](std::string_view kind) {
        return std::find_if(record.attentions.begin(), record.attentions.end(),
                            [&](const RecordedAttention& a) { return a.kind == kind; });
      };
      const auto cross = find("cross");
      check(cross != record.attentions.end(), "evaluate: --alignment needs a model with attention");
      if (rows.empty()) rows = rows_for(*cross, find("encoder-self") != record.attentions.end());
      // Gold alignments number the words of a text that is split at spaces.
      for (Row& row : rows) row.score.add(align(record, row.heads, row.align), gold[at + i]);
    }
    console.live(fmt::format("aligned {} of {} pairs", thousands(static_cast<int64_t>(at + count)),
                             thousands(std::ssize(gold))));
  }
  return rows;
}

std::vector<Row> measure_file(const AlignmentTest& test, const std::vector<GoldAlignment>& gold) {
  const std::vector<GoldAlignment> links = read_gold(test.hypotheses, test.first);
  check(links.size() == gold.size(), "{}: expected {} lines, as {} has, got {}", test.hypotheses, gold.size(),
        test.gold, links.size());
  Row row{.name = test.hypotheses};
  for (size_t i = 0; i < gold.size(); ++i) row.score.add(links[i].possible, gold[i]);
  return {row};
}

void print(const std::vector<Row>& rows, const Row* best, bool json) {
  Json list = Json::array();
  for (const Row& row : rows) {
    const AlignmentScore& s = row.score;
    list.push_back({{"name", row.name}, {"aer", s.error_rate()}, {"precision", s.precision()}, {"recall", s.recall()}});
    if (best == nullptr) continue;
    list.back().update({{"heads", row.heads.heads}, {"layer", row.heads.layer}, {"head", row.heads.head}});
    list.back()["step"] = row.heads.step == "input" ? "input" : "output";
    list.back()["best"] = &row == best;
  }
  if (json) {
    fmt::print("{}\n", list.dump(2));
    return;
  }
  size_t width = 4;
  for (const Row& row : rows) width = std::max(width, row.name.size());
  fmt::print("{:{}}     AER  precision  recall\n", "", width);
  for (const Row& row : rows) {
    fmt::print("{:{}}  {:6.2f}     {:6.2f}  {:6.2f}{}\n", row.name, width, 100 * row.score.error_rate(),
               100 * row.score.precision(), 100 * row.score.recall(), &row == best && rows.size() > 1 ? "  best" : "");
  }
}

}  // namespace

int evaluate_alignment(const AlignmentTest& test, const ModelFlags& models) {
  const std::vector<GoldAlignment> gold = read_gold(test.gold, test.first);
  if (!test.hypotheses.empty()) {
    print(measure_file(test, gold), nullptr, test.json);
    return kDone;
  }
  const Translator translator = models.load();
  const std::vector<Row> rows = measure_heads(test, translator, gold);
  const Row* best = nullptr;
  for (const Row& row : rows) {
    if (best == nullptr || row.score.error_rate() < best->score.error_rate()) best = &row;
  }
  print(rows, best, test.json);
  check(!test.store_best || best->score.error_rate() < 1,
        "evaluate: no head aligns any words as the gold alignments do, so none is stored as the best");
  if (test.store_best) {
    FolderConfig config = translator.model().config;
    config.best_heads = best->heads.heads;
    config.best_layer = best->heads.layer;
    config.best_head = best->heads.head;
    config.best_step = best->heads.step == "input" ? "input" : "output";
    save_config(find_model(models.models.front()), config);
    fmt::print(stderr, "stored \"{}\" as the best heads of {}, for --heads best\n", best->name, models.models.front());
  }
  return kDone;
}

}  // namespace fovea::app
