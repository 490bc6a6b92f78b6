// fovea mechanisms: all attention mechanisms of the registries.
#include <fmt/format.h>

#include <memory>

#include "attention/registry.h"
#include "fovea/commands.h"
#include "fovea/mechanisms.h"
#include "models/model.h"
#include "tasks/task.h"

namespace fovea::app {

namespace {

using Json = nlohmann::ordered_json;

template <class Entries> Json entries_json(const Entries& entries) {
  Json list = Json::array();
  for (const auto& e : entries) {
    list.push_back(
        {{"name", e.name}, {"equation", e.equation}, {"paper", e.paper}, {"cost", e.cost}, {"help", e.help}});
  }
  return list;
}

template <class Entries> void print_axis(std::string_view title, const Entries& entries) {
  fmt::print("{}\n", title);
  for (const auto& e : entries) {
    fmt::print("  {:<16}{}\n  {:16}{}\n", e.name, e.equation, "", e.help);
    if (!e.cost.empty()) fmt::print("  {:16}cost: {}\n", "", e.cost);
    if (!e.paper.empty()) fmt::print("  {:16}{}\n", "", e.paper);
  }
  fmt::print("\n");
}

int mechanisms(bool json) {
  if (json) {
    fmt::print("{}\n", mechanisms_json().dump(2));
    return kDone;
  }
  print_axis("score (model.attention.score): compares a query q with a key k", scores());
  print_axis("scope (model.attention.scope): positions a query may attend to", scopes());
  print_axis("selection (model.attention.selection): how scores become attention weights", selections());
  print_axis("relative positions (model.attention.relative)", relatives());
  fmt::print("models (model.architecture)\n");
  for (const ArchitectureEntry& a : architectures()) fmt::print("  {:<16}{} {}\n", a.name, a.help, a.paper);
  fmt::print("\nencoders (model.encoder)\n");
  for (const EncoderEntry& e : text_encoders()) fmt::print("  {:<16}{}\n", e.name, e.help);
  fmt::print("\ntasks (task)\n");
  for (const TaskEntry& t : tasks()) fmt::print("  {:<16}{}\n", t.name, t.help);
  return kDone;
}

}  // namespace

Json mechanisms_json() {
  const auto named = [](const auto& entries) {
    Json list = Json::array();
    for (const auto& e : entries) list.push_back({{"name", e.name}, {"help", e.help}});
    return list;
  };
  Json models = Json::array();
  for (const ArchitectureEntry& a : architectures()) {
    models.push_back({{"name", a.name}, {"paper", a.paper}, {"help", a.help}});
  }
  return {{"scores", entries_json(scores())},
          {"scopes", entries_json(scopes())},
          {"selections", entries_json(selections())},
          {"relative_positions", entries_json(relatives())},
          {"models", std::move(models)},
          {"encoders", named(text_encoders())},
          {"tasks", named(tasks())}};
}

void add_mechanisms(CLI::App& app, Run& run) {
  CLI::App* command =
      app.add_subcommand("mechanisms", "List every attention mechanism with its equation, paper and cost.");
  const auto json = std::make_shared<bool>(false);
  command->add_flag("--json", *json, "Print JSON.");
  command->callback([json, &run] { run = [json] { return mechanisms(*json); }; });
}

}  // namespace fovea::app
