// Attention records as data (JSON, arrays), and diagnostics that show where attention failed.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "fovea/commands.h"
#include "fovea/output.h"
#include "fovea/view_records.h"
#include "view/diagnostics.h"
#include "view/record_arrays.h"
#include "view/record_file.h"
#include "view/record_selection.h"
#include "view/terminal.h"
#include "view/terminal_text.h"

namespace fovea::app {

namespace {

using Json = nlohmann::ordered_json;

void check_scores(const AttentionRecord& record) {
  check(!record.attentions.empty(), "scores: {} has no attention", record.architecture);
  for (const RecordedAttention& a : record.attentions) {
    check(!a.scores.empty(), "scores: the record of line {} has none; fovea view -m MODEL --scores -f json keeps them",
          record.line);
  }
}

struct Diagnosed {
  int64_t line, rank;
  std::string source, target;
  Diagnostics numbers;
};

std::vector<Diagnosed> diagnose_all(const ViewFlags& flags) {
  std::vector<Diagnosed> all;
  each_record(flags, [&](const AttentionRecord& record) {
    if (record.is_empty()) return;
    all.push_back({record.line, record.rank, record.image ? record.image->name : record.source_text, record.target_text,
                   diagnose(reduce(record, flags.heads))});
  });
  check(!all.empty(), "view: expected sentences, got empty lines only");
  if (flags.sort_by.empty()) return all;
  const bool higher = Diagnostics::higher_is_worse(flags.sort_by);
  std::stable_sort(all.begin(), all.end(), [&](const Diagnosed& a, const Diagnosed& b) {
    const double x = a.numbers.named(flags.sort_by), y = b.numbers.named(flags.sort_by);
    return higher ? x > y : x < y;
  });
  return all;
}

}  // namespace

int write_data(const ViewFlags& flags, const std::string& format) {
  const bool safetensors = format == "safetensors";
  check(!safetensors || (!flags.output.empty() && flags.output != "-"), "format safetensors: expected --output");
  // An NPY file holds one attention.
  const RecordSelection selection{flags.one_attention || format == "npy", flags.combined, flags.heads};
  Output output(safetensors ? "" : flags.output);
  NpzWriter npz([&](const std::string& bytes) { output.write(bytes); });
  SafetensorsRecords tensors;
  int64_t count = 0;
  each_record(flags, [&](AttentionRecord& record) {
    ++count;
    if (!record.is_empty()) {
      select(record, selection);
      if (flags.scores) check_scores(record);
    }
    if (format == "json") return output.write(to_json(record) + "\n");
    check(format != "npy" || !record.is_empty(), "line {}: expected text, got an empty line", record.line);
    if (record.is_empty()) return;  // an empty line has no attention
    if (format == "npz") return npz.add(record);
    if (safetensors) return tensors.add(record);
    check(count == 1,
          "format npy: a file holds one array and there are several records; choose one with --line, or npz");
    output.write(to_npy(record.attentions.front(), flags.scores));
  });
  check(count > 0, "view: there is no line {}", flags.line);
  if (format == "npz") npz.finish();
  if (safetensors) tensors.write(flags.output);
  output.commit();
  return kDone;
}

int show_diagnostics(const ViewFlags& flags, const std::string& format) {
  check(format == "terminal" || format == "json", "format {}: diagnostics are for the terminal or json", format);
  const std::vector<Diagnosed> all = diagnose_all(flags);
  const TerminalStyle terminal = terminal_style(flags.output.empty() ? STDOUT_FILENO : -1);
  const std::vector<std::string> names = Diagnostics::names();
  Output output(flags.output);
  std::string text;
  if (format == "terminal") {
    text = fmt::format("{:>6}", "line");
    for (const std::string& name : names) text += "  " + name;
    text += "  source → target\n";
  }
  const auto numbers = [&](const std::string& head, const auto& value) {
    std::string row = fmt::format("{:>6}", head);
    for (const std::string& name : names) row += fmt::format("  {:>{}.3f}", value(name), name.size());
    return row;
  };
  for (const Diagnosed& d : all) {
    if (format == "json") {
      Json json{{"line", d.line}, {"rank", d.rank}, {"source", d.source}, {"target", d.target}};
      for (const std::string& name : names) json[name] = d.numbers.named(name);
      text += json.dump() + "\n";
    } else {
      text += numbers(std::to_string(d.line), [&](const std::string& name) { return d.numbers.named(name); });
      text += fmt::format("  {} → {}\n", harmless(d.source, !terminal.unicode), harmless(d.target, !terminal.unicode));
    }
  }
  if (format == "terminal" && all.size() > 1) {
    text += numbers("mean", [&](const std::string& name) {
      double sum = 0;
      for (const Diagnosed& d : all) sum += d.numbers.named(name);
      return sum / static_cast<double>(all.size());
    });
    text += fmt::format("  of {} sentences\n", all.size());
  }
  output.write(text);
  output.commit();
  return kDone;
}

}  // namespace fovea::app
