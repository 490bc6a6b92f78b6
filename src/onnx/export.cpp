#include "onnx/export.h"

#include <fmt/format.h>

#include "base/files.h"
#include "base/json.h"
#include "models/model.h"
#include "onnx/classifier.h"
#include "onnx/decoders.h"

namespace fovea::onnx {

namespace {

constexpr int64_t kFormat = 1;  // of model.json

Json json_of(const Port& port) {
  Json shape = Json::array();
  for (const Dimension& dimension : port.shape) std::visit([&](const auto& size) { shape.push_back(size); }, dimension);
  return {{"name", port.name}, {"type", name_of(port.type)}, {"shape", shape}};
}

Json json_of(const std::vector<Port>& ports) {
  Json list = Json::array();
  for (const Port& port : ports) list.push_back(json_of(port));
  return list;
}

Json json_of(const Exported& exported) {
  Json graphs = Json::object();
  for (const auto& graph : exported.graphs) {
    graphs[graph->name()] = {{"file", graph->name() + ".onnx"},
                             {"inputs", json_of(graph->inputs())},
                             {"outputs", json_of(graph->outputs())}};
  }
  return graphs;
}

Json description_of(const std::string& task, const Exported& exported) {
  return {{"format", kFormat}, {"task", task}, {"opset", kOpset}, {"graphs", json_of(exported)}};
}

// Adds the file of a vocabulary and returns its description.
Json add_vocabulary(const Vocabulary& vocabulary, const std::string& side, Exported& exported) {
  const std::string name = fmt::format("{}.{}", side, vocabulary.extension());
  exported.files.push_back({name, vocabulary.bytes()});
  return {{"file", name}, {"kind", vocabulary.kind()}, {"size", vocabulary.size()}};
}

Json token_ids() { return {{"pad", kPad}, {"unknown", kUnknown}, {"begin", kBegin}, {"end", kEnd}}; }
// Our own search never generates these.
const std::vector<int32_t> kBanned = {kPad, kUnknown, kBegin};

// The longest sequence of a network, given the limit of its weights and whether it has tables of positions; 0: any.
int64_t longest(int64_t limit, bool has_positions) { return smaller_limit(limit, has_positions ? kPositions : 0); }

// How token ids become a source. `longest` is the limit of the network, of which the end mark takes one token.
Json source_json(int64_t longest, int64_t max_source, bool end) {
  return {{"end", end}, {"longest", smaller_limit(max_source, longest > 0 ? longest - (end ? 1 : 0) : 0)}};
}

bool source_has_positions(const ModelConfig& config) {
  const bool rotates = config.self_attention.relative == "rotary";
  return (!encoder_is_recurrent(config) && (config.positions == "sinusoidal" || rotates)) ||
         (config.has_cross_attention() && config.attention.relative == "rotary");
}

bool target_has_positions(const ModelConfig& config) {
  const bool transformer = config.architecture == "transformer";
  return (transformer && (config.positions == "sinusoidal" || config.self_attention.relative == "rotary")) ||
         (config.has_cross_attention() && config.attention.relative == "rotary");
}

void add_file(const Json& description, Exported& exported) {
  exported.files.push_back({"model.json", description.dump(2) + "\n"});
}

struct StepGraph {
  std::unique_ptr<Graph> graph;
  std::vector<StepState> states;
};

StepGraph step_graph(const Decoder& decoder, const Prepared& prepared, const std::vector<const Parameters*>& parameters,
                     bool of_text) {
  auto graph = std::make_unique<Graph>("decoder_step", parameters);
  Graph& g = *graph;
  StepInput input{.tokens = g.input({"tokens", Type::kInt64, {kBatch}})};
  for (const Named& memory : prepared.memory) input.memory[memory.port.name] = g.input(memory.port);
  if (of_text && !prepared.memory.empty()) {
    input.lengths = g.input({"lengths", Type::kInt64, {kBatch}});
    input.mask = mask_of(input.lengths, size(input.memory.at(prepared.memory.front().port.name), 2));
  }
  Step step(g, input);
  decoder.step(step);
  return {std::move(graph), step.states()};
}

// The states of steps and the tensors that every step reads, for who runs the graphs.
Json steps_json(const Prepared& prepared, const std::vector<StepState>& states) {
  Json memory = Json::array(), list = Json::array();
  for (const Named& named : prepared.memory) memory.push_back(named.port.name);
  for (const StepState& state : states) {
    list.push_back({{"input", "past." + state.name},
                    {"output", "present." + state.name},
                    {"first", state.from_encoder ? Json("initial." + state.name) : Json(0)}});
  }
  return {{"memory", memory}, {"states", list}, {"banned", kBanned}};
}

// The graphs of an encoder, whose states are given, and of a step of the decoder. Returns the description of steps.
Json add_graphs(std::unique_ptr<Graph> encoder, const Encoded& encoded, const FolderConfig& config,
                const std::vector<const Parameters*>& parameters, Exported& exported) {
  const auto decoder = make_decoder(config.model, {.memory = encoded.depth, .vocabulary = config.target_words});
  const Prepared prepared = decoder->prepare(encoded);
  for (const Named& named : prepared.memory) encoder->output(named.port, named.value);
  for (const Named& named : prepared.initial) encoder->output(named.port, named.value);
  StepGraph step = step_graph(*decoder, prepared, parameters, static_cast<bool>(encoded.mask));
  exported.graphs.push_back(std::move(encoder));
  exported.graphs.push_back(std::move(step.graph));
  return steps_json(prepared, step.states);
}

void output_attentions(Graph& g, const Encoded& encoded) {
  if (encoded.attentions.value) g.output(encoded.attentions.port, encoded.attentions.value);
}

Tokens source_tokens(Graph& g) {
  return {.ids = g.input({"source", Type::kInt64, {kBatch, kSource}}),
          .lengths = g.input({"lengths", Type::kInt64, {kBatch}})};
}

Value pictures(Graph& g, int64_t size) { return g.input({"images", Type::kUint8, {kBatch, size, size, int64_t{3}}}); }

Json image_json(const ImageEncoder& encoder, const VisionConfig& config) {
  const Shape map = encoder.map_shape();
  return {{"size", config.size}, {"rows", map[0]}, {"columns", map[1]}};
}

}  // namespace

Exported export_model(const LoadedModel& model) {
  const FolderConfig& config = model.config;
  const std::vector<const Parameters*> parameters = {model.parameters.get()};
  Exported exported;
  auto graph = std::make_unique<Graph>("encoder", parameters);
  const Encoded encoded = encode_text(config.model, source_tokens(*graph));
  output_attentions(*graph, encoded);
  const Json steps = add_graphs(std::move(graph), encoded, config, parameters, exported);
  Json description = description_of(config.task, exported);
  description["architecture"] = config.model.architecture;
  description["steps"] = steps;
  description["vocabularies"] = {{"source", add_vocabulary(*model.source, "source", exported)},
                                 {"target", add_vocabulary(*model.target, "target", exported)}};
  description["ids"] = token_ids();
  const int64_t limit = longest(model.model->max_source(), source_has_positions(config.model));
  description["source"] = source_json(limit, config.max_source, config.end_source);
  description["source"]["reversed"] = config.reverse_source;
  description["source"]["split_identifiers"] = config.split_identifiers;
  description["target"] = {{"longest", longest(model.model->max_target(), target_has_positions(config.model))}};
  add_file(description, exported);
  return exported;
}

Exported export_model(const LoadedCaptioner& captioner) {
  const FolderConfig& config = captioner.loaded.config;
  std::vector<const Parameters*> parameters = {captioner.loaded.parameters.get()};
  if (captioner.extractor) parameters.push_back(&captioner.extractor->parameters());
  Exported exported;
  auto graph = std::make_unique<Graph>("encoder", parameters);
  const Encoded encoded =
      encode_images(config.vision, captioner.encoder->depth(), pictures(*graph, config.vision.size));
  output_attentions(*graph, encoded);
  const Json steps = add_graphs(std::move(graph), encoded, config, parameters, exported);
  Json description = description_of(config.task, exported);
  description["architecture"] = config.model.architecture;
  description["steps"] = steps;
  description["vocabularies"] = {{"target", add_vocabulary(*captioner.loaded.target, "target", exported)}};
  description["ids"] = token_ids();
  description["image"] = image_json(*captioner.encoder, config.vision);
  description["target"] = {
      {"longest", longest(captioner.loaded.model->max_target(), target_has_positions(config.model))}};
  add_file(description, exported);
  return exported;
}

Exported export_model(const LoadedClassifier& classifier) {
  const ClassifierFolderConfig& config = classifier.config;
  std::vector<const Parameters*> parameters = {classifier.parameters.get()};
  if (classifier.extractor) parameters.push_back(&classifier.extractor->parameters());
  Exported exported;
  auto graph = std::make_unique<Graph>("classifier", parameters);
  const Encoded encoded = config.of_images() ? encode_images(config.vision, classifier.image_encoder().depth(),
                                                             pictures(*graph, config.vision.size))
                                             : encode_text(config.model, source_tokens(*graph));
  output_attentions(*graph, encoded);
  const Classified classified = classify(config.classifier, encoded);
  graph->output({"logits", Type::kFloat, {kBatch, std::ssize(config.labels)}}, classified.logits);
  if (classified.weights) {
    const int64_t hops = config.classifier.has("structured") ? config.classifier.hops : 1;
    graph->output({"pooling_attention", Type::kFloat, {kBatch, hops, kSource}}, classified.weights);
  }
  exported.graphs.push_back(std::move(graph));
  Json description = description_of(config.task, exported);
  description["labels"] = config.labels;
  if (config.of_images()) {
    description["image"] = image_json(classifier.image_encoder(), config.vision);
  } else {
    description["vocabularies"] = {{"source", add_vocabulary(*classifier.source, "source", exported)}};
    description["ids"] = token_ids();
    const int64_t limit = longest(classifier.model->max_source(), source_has_positions(config.model));
    description["source"] = source_json(limit, config.max_source, /*end=*/true);
  }
  add_file(description, exported);
  return exported;
}

void export_folder(const std::string& folder, const std::string& output) {
  const std::string task = task_of_model(folder);
  Exported exported;
  if (task == "caption") {
    exported = export_model(load_captioner(folder, Device::cpu()));
  } else if (task == "classify" || task == ClassifierFolderConfig::kImageTask) {
    exported = export_model(load_classifier(folder, Device::cpu()));
  } else {
    check(task != "answer",
          "{}: a model of the task answer is not exported to ONNX: it reads features of tokens that are no part of its "
          "network",
          folder);
    exported = export_model(load_model(folder, Device::cpu()));
  }
  write(exported, output);
}

void write(const Exported& exported, const std::string& folder) {
  std::vector<File> files = exported.files;
  for (const auto& graph : exported.graphs) files.insert(files.begin(), {graph->name() + ".onnx", graph->bytes()});
  create_model_folder(folder);
  for (const File& file : files) write_file_atomically(folder + "/" + file.name, file.bytes);
}

}  // namespace fovea::onnx
