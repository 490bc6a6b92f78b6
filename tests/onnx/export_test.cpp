// The structure of exported graphs, as a runtime checks it: read back from their bytes.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "base/files.h"
#include "onnx/cases.h"
#include "onnx/ops.h"
#include "support.h"
#include "temporary_folder.h"

namespace fovea::onnx {
namespace {

struct Node {
  std::string name, op;
  std::vector<std::string> inputs, outputs;
};

// The parts of a ModelProto that are checked.
struct Parsed {
  std::vector<Node> nodes;
  std::set<std::string> initialisers;
  std::vector<std::string> inputs, outputs;
  uint64_t opset = 0;
};

Node parse_node(std::string_view bytes) {
  Node node;
  for (ProtobufReader reader(bytes, "node"); reader.next();) {
    if (reader.field() == 1) node.inputs.emplace_back(reader.payload());
    if (reader.field() == 2) node.outputs.emplace_back(reader.payload());
    if (reader.field() == 3) node.name = reader.payload();
    if (reader.field() == 4) node.op = reader.payload();
  }
  return node;
}

// The name of an initialiser, whose bytes must be those of its shape.
std::string parse_tensor(std::string_view bytes) {
  std::string name;
  size_t count = 1, type = 0, raw = 0;
  for (ProtobufReader reader(bytes, "tensor"); reader.next();) {
    if (reader.field() == 1) {
      std::string_view dims = reader.payload();
      size_t size = 0;
      int shift = 0;
      for (const char c : dims) {
        size |= static_cast<size_t>(c & 0x7F) << shift;
        shift += 7;
        if (c & 0x80) continue;
        count *= size;
        size = 0;
        shift = 0;
      }
    }
    if (reader.field() == 2) type = reader.value();
    if (reader.field() == 8) name = reader.payload();
    if (reader.field() == 9) raw = reader.payload().size();
  }
  EXPECT_EQ(raw, count * (type == 7 ? 8 : 4)) << name;
  return name;
}

std::string first_string(std::string_view bytes) {
  ProtobufReader reader(bytes, "port");
  return reader.next() ? std::string(reader.payload()) : std::string();
}

Parsed parse(std::string_view bytes) {
  Parsed parsed;
  for (ProtobufReader model(bytes, "model"); model.next();) {
    if (model.field() == 8) {
      for (ProtobufReader opset(model.payload(), "opset"); opset.next();)
        if (opset.field() == 2) parsed.opset = opset.value();
    }
    if (model.field() != 7) continue;
    for (ProtobufReader graph(model.payload(), "graph"); graph.next();) {
      if (graph.field() == 1) parsed.nodes.push_back(parse_node(graph.payload()));
      if (graph.field() == 5) {
        EXPECT_TRUE(parsed.initialisers.insert(parse_tensor(graph.payload())).second);
      }
      if (graph.field() == 11) parsed.inputs.push_back(first_string(graph.payload()));
      if (graph.field() == 12) parsed.outputs.push_back(first_string(graph.payload()));
    }
  }
  return parsed;
}

// Every value is defined once, before it is used; every node has a name of its own; outputs and initialisers are used.
void check_structure(const Parsed& graph) {
  std::set<std::string> defined = graph.initialisers, names, used;
  for (const std::string& input : graph.inputs) EXPECT_TRUE(defined.insert(input).second) << input;
  for (const Node& node : graph.nodes) {
    EXPECT_TRUE(names.insert(node.name).second) << node.name;
    EXPECT_FALSE(node.op.empty()) << node.name;
    for (const std::string& input : node.inputs) {
      EXPECT_TRUE(defined.contains(input)) << node.name << " reads " << input;
      used.insert(input);
    }
    for (const std::string& output : node.outputs) EXPECT_TRUE(defined.insert(output).second) << output;
  }
  for (const std::string& output : graph.outputs) EXPECT_TRUE(defined.contains(output)) << output;
  for (const std::string& input : graph.inputs) EXPECT_TRUE(used.contains(input)) << input << " is not used";
  for (const std::string& name : graph.initialisers) EXPECT_TRUE(used.contains(name)) << name << " is not used";
}

TEST(Onnx, GraphsAreWellFormed) {
  for (const NamedCase& named : all_cases()) {
    SCOPED_TRACE(named.name);
    for (const auto& graph : named.make().exported.graphs) {
      SCOPED_TRACE(graph->name());
      const Parsed parsed = parse(graph->bytes());
      EXPECT_EQ(parsed.opset, static_cast<uint64_t>(kOpset));
      EXPECT_GT(parsed.nodes.size(), 5U);
      check_structure(parsed);
    }
    if (HasFailure()) return;
  }
}

std::vector<std::string> names_of(const std::vector<Port>& ports) {
  std::vector<std::string> names;
  for (const Port& port : ports) names.push_back(port.name);
  return names;
}

TEST(Onnx, TheDescriptionNamesTheInputsAndOutputsOfTheGraphs) {
  for (const NamedCase& named : all_cases()) {
    SCOPED_TRACE(named.name);
    const Case one = named.make();
    const Json model = parse_json(one.exported.files.back().bytes, "model.json");
    for (const auto& graph : one.exported.graphs) {
      const Parsed parsed = parse(graph->bytes());
      EXPECT_EQ(parsed.inputs, names_of(graph->inputs()));
      EXPECT_EQ(parsed.outputs, names_of(graph->outputs()));
      EXPECT_EQ(model["graphs"][graph->name()]["inputs"].size(), parsed.inputs.size());
    }
    if (!model.contains("steps")) continue;
    const std::vector<std::string> encoded = names_of(one.exported.graphs[0]->outputs());
    for (const Json& state : model["steps"]["states"]) {
      if (state["first"] == 0) continue;
      EXPECT_NE(std::find(encoded.begin(), encoded.end(), state["first"].get<std::string>()), encoded.end()) << state;
    }
  }
}

TEST(Onnx, RefusesAModelThatReadsMoreThanTokens) {
  const TemporaryFolder folder;
  folder.file("config.json", R"({"task": "answer"})");
  EXPECT_ERROR(export_folder(folder.path(), folder.file("new")), "a model of the task answer is not exported to ONNX");
  EXPECT_FALSE(std::filesystem::exists(folder.file("new")));
}

TEST(Onnx, RefusesAGraphAboveTheLargestFile) {
  const Case one = all_cases().front().make();
  const Graph& graph = *one.exported.graphs[0];
  const std::string bytes = graph.bytes();
  EXPECT_ERROR(graph.bytes(1000), "the limit of a single ONNX file");
  EXPECT_EQ(graph.bytes(std::ssize(bytes)), bytes);
}

// As the classifier reads texts: truncated to max_source tokens, then the end mark.
TEST(Onnx, TheDescriptionSaysHowASourceEnds) {
  const auto source_of = [](const std::string& name) {
    for (const NamedCase& named : all_cases()) {
      if (named.name == name) return parse_json(named.make().exported.files.back().bytes, "model.json")["source"];
    }
    return Json();
  };
  EXPECT_EQ(source_of("classifier_recurrent_mean"), parse_json(R"({"end": true, "longest": 20})", "expected"));
  EXPECT_EQ(source_of("transformer_additive")["longest"], 31);  // learned positions cover 32 tokens
  EXPECT_EQ(source_of("luong")["longest"], 0);
  EXPECT_EQ(source_of("transformer")["longest"], kPositions - 1);
}

TEST(Onnx, WritesAFolder) {
  const TemporaryFolder folder;
  const Case one = all_cases().front().make();
  write(one.exported, folder.file("new"));
  EXPECT_EQ(read_file(folder.file("new/encoder.onnx")), one.exported.graphs[0]->bytes());
  const Json model = parse_json(read_file(folder.file("new/model.json")), "model.json");
  EXPECT_EQ(model["ids"]["begin"], 2);
  EXPECT_FALSE(read_file(folder.file("new/" + model["vocabularies"]["source"]["file"].get<std::string>())).empty());
}

}  // namespace
}  // namespace fovea::onnx
