#include "onnx/cases.h"

#include <algorithm>

#include "decode/test_models.h"
#include "models/nonlocal.h"
#include "onnx/outputs.h"
#include "text/vocabulary.h"

namespace fovea::onnx {

namespace {

constexpr int64_t kWords = 12, kBatchSize = 3, kLongest = 6, kSteps = 5;
const std::vector<int32_t> kLengths = {6, 4, 1};

std::vector<int32_t> random_ids(Random& random, int64_t count, int64_t lowest = 4) {
  std::vector<int32_t> ids;
  for (int64_t i = 0; i < count; ++i)
    ids.push_back(static_cast<int32_t>(lowest) +
                  static_cast<int32_t>(random.below(static_cast<uint64_t>(kWords - lowest))));
  return ids;
}

// [rows,columns] -> [columns,rows]: between time-major and batch-major.
std::vector<int32_t> transposed(const std::vector<int32_t>& x, int64_t rows, int64_t columns) {
  std::vector<int32_t> y;
  for (int64_t c = 0; c < columns; ++c)
    for (int64_t r = 0; r < rows; ++r) y.push_back(x[static_cast<size_t>(r * columns + c)]);
  return y;
}

// Random weights: small matrices tell few tokens apart, and a weight of 0 would have no effect.
void randomise(const Parameters& parameters) {
  Random random(5, 9);
  for (const Parameter& p : parameters.list()) {
    std::vector<float> x = to_host<float>(p.value());
    const bool variance = p.name().ends_with("running_variance");
    for (float& each : x) {
      if (each == 0.0f || variance)
        each = static_cast<float>(variance ? random.uniform(0.5, 2) : random.uniform(-0.5, 0.5));
    }
    copy(from_host(x, p.value().shape(), Device::cpu()), p.value());
  }
}

std::shared_ptr<const Vocabulary> word_vocabulary() {
  const std::vector<std::string> lines = {"a b c d e f g h"};
  VocabularyOptions options;
  options.kind = "word";
  return train_vocabulary(lines, options).vocabulary;
}

// The inputs of every step beside its states: the target tokens [T,B], and the source as a head that copies reads it.
Json steps_of(const TeacherForced& forced, const std::vector<int32_t>& target, int64_t source, const Json& copied) {
  Json steps = Json::array();
  for (int64_t t = 0; t < kSteps; ++t) {
    const auto begin = target.begin() + t * kBatchSize;
    Json inputs = copied;
    inputs["tokens"] = tensor("int64", {kBatchSize}, std::vector<int32_t>(begin, begin + kBatchSize));
    inputs["step"] = tensor("int64", {1}, std::vector{t});
    steps.push_back({{"inputs", inputs}, {"expected", step_outputs(forced, t, source)}});
  }
  return steps;
}

std::vector<int32_t> random_target(Random& random) {
  std::vector<int32_t> target = random_ids(random, kSteps * kBatchSize, 0);
  std::fill_n(target.begin(), kBatchSize, kBegin);
  return target;
}

Json source_inputs(const std::vector<int32_t>& ids) {
  return {{"source", tensor("int64", {kBatchSize, kLongest}, ids)},
          {"lengths", tensor("int64", {kBatchSize}, kLengths)}};
}

Source source_of(const std::vector<int32_t>& ids) {
  const Device cpu = Device::cpu();
  return {.ids = from_host(transposed(ids, kBatchSize, kLongest), {kLongest, kBatchSize}, cpu),
          .lengths = from_host(kLengths, {kBatchSize}, cpu)};
}

Case text_case(const Setup& setup) {
  LoadedModel loaded;
  loaded.config.model = setup.config;
  loaded.config.source_words = loaded.config.target_words = kWords;
  loaded.source = loaded.target = word_vocabulary();
  const auto parameters = std::make_shared<Parameters>(Device::cpu());
  loaded.model = make_model(*parameters, setup.config, {kWords, kWords});
  parameters->allocate(3);
  randomise(*parameters);
  loaded.parameters = parameters;

  Random random(7);
  const std::vector<int32_t> ids = random_ids(random, kBatchSize * kLongest), target = random_target(random);
  Source source = source_of(ids);
  Json copied = Json::object();
  if (setup.config.copies()) {  // two words of the source are not in the target vocabulary
    std::vector<int32_t> extended = ids;
    for (int32_t& id : extended) id = id < 6 ? id + static_cast<int32_t>(kWords) - 4 : id;
    source.copied = from_host(extended, {kBatchSize, kLongest}, Device::cpu());
    source.extended = 2;
    copied = {{"copied", tensor("int64", {kBatchSize, kLongest}, extended)},
              {"extended", tensor("int64", {1}, std::vector{2})}};
  }
  const TeacherForced forced =
      loaded.model->teacher_force(source, from_host(target, {kSteps, kBatchSize}, Device::cpu()), true);
  return {setup.name,
          export_model(loaded),
          {{"inputs", source_inputs(ids)},
           {"expected", encoder_outputs(forced.attentions, kLengths)},
           {"steps", steps_of(forced, target, kLongest, copied)}}};
}

std::vector<Image> random_images(int64_t size) {
  std::vector<Image> images;
  Random random(11);
  for (int64_t b = 0; b < kBatchSize; ++b) {
    Image& image = images.emplace_back(Image{size, size, std::vector<uint8_t>(static_cast<size_t>(size * size * 3))});
    for (uint8_t& pixel : image.pixels) pixel = static_cast<uint8_t>(random.below(256));
  }
  return images;
}

Json image_inputs(const std::vector<Image>& images) {
  std::vector<int> pixels;
  for (const Image& image : images) pixels.insert(pixels.end(), image.pixels.begin(), image.pixels.end());
  return {{"images", tensor("uint8", {std::ssize(images), images[0].height, images[0].width, 3}, pixels)}};
}

VisionConfig small_vision(const std::string& network, const std::string& layer, bool frozen) {
  VisionConfig vision;
  vision.network = network;
  vision.layer = layer;
  vision.size = 37;  // padding differs between the sides
  vision.frozen = frozen;
  return vision;
}

Case caption_case(const std::string& name, const VisionConfig& vision) {
  FolderConfig config;
  config.task = "caption";
  config.target_words = kWords;
  config.vision = vision;
  config.model = small_config("bahdanau");
  config.model.cell = "lstm";
  config.model.context_gate = true;
  const auto parameters = std::make_shared<Parameters>(Device::cpu());
  LoadedCaptioner captioner = make_captioner(*parameters, config);
  captioner.loaded.target = word_vocabulary();
  parameters->allocate(3);
  randomise(*parameters);
  captioner.loaded.parameters = parameters;

  Random random(7);
  const std::vector<Image> images = random_images(vision.size);
  const std::vector<int32_t> target = random_target(random);
  Source source;
  if (vision.frozen) {
    captioner.extractor = std::make_shared<FeatureExtractor>(vision, Device::cpu(), 4);
    randomise(captioner.extractor->parameters());
    source.images = (*captioner.extractor)(images);
  } else {
    source.images = captioner.encoder->network()->normalise(images, Device::cpu());
  }
  const TeacherForced forced =
      captioner.loaded.model->teacher_force(source, from_host(target, {kSteps, kBatchSize}, Device::cpu()), true);
  const int64_t cells = captioner.map_shape()[0] * captioner.map_shape()[1];
  return {name,
          export_model(captioner),
          {{"inputs", image_inputs(images)},
           {"expected", encoder_outputs(forced.attentions)},
           {"steps", steps_of(forced, target, cells, Json::object())}}};
}

LoadedClassifier random_classifier(const ClassifierFolderConfig& config) {
  LoadedClassifier loaded;
  loaded.config = config;
  loaded.config.labels = {"bad", "good", "unclear"};
  const auto parameters = std::make_shared<Parameters>(Device::cpu());
  loaded.model = make_classifier(*parameters, loaded.config);
  parameters->allocate(3);
  randomise(*parameters);
  loaded.parameters = parameters;
  return loaded;
}

Case classifier_case(const std::string& encoder, const std::vector<std::string>& pooling, int64_t head_hidden) {
  ClassifierFolderConfig config;
  config.source_words = kWords;
  config.max_source = 20;
  config.model = small_config("bahdanau");
  config.model.encoder = encoder;
  config.model.encoder_layers = 2;
  config.model.bidirectional = true;
  config.classifier.pooling = pooling;
  config.classifier.hops = 3;
  config.classifier.head_hidden = head_hidden;
  LoadedClassifier loaded = random_classifier(config);
  loaded.source = word_vocabulary();
  Random random(7);
  const std::vector<int32_t> ids = random_ids(random, kBatchSize * kLongest);
  return {
      "classifier_" + encoder + "_" + pooling[0],
      export_model(loaded),
      {{"inputs", source_inputs(ids)}, {"expected", class_outputs((*loaded.model)(source_of(ids), true), kLengths)}}};
}

Case image_classifier_case(const std::string& name, const VisionConfig& vision) {
  ClassifierFolderConfig config;
  config.task = ClassifierFolderConfig::kImageTask;
  config.vision = vision;
  config.classifier.pooling = {"mean", "attention"};
  const LoadedClassifier loaded = random_classifier(config);
  const std::vector<Image> images = random_images(vision.size);
  Source source;
  source.images = loaded.image_encoder().network()->normalise(images, Device::cpu());
  // A subsampled map has so many positions that their weights would be the largest file of all cases.
  const bool captures = vision.size < 50;
  return {name,
          export_model(loaded),
          {{"inputs", image_inputs(images)}, {"expected", class_outputs((*loaded.model)(source, captures))}}};
}

void add_text_cases(std::vector<NamedCase>& cases) {
  std::vector<Setup> all = setups();
  for (const char* architecture : {"luong", "transformer"})
    for (Setup& setup : mechanisms(architecture)) {
      std::replace(setup.name.begin(), setup.name.end(), ' ', '_');
      std::erase(setup.name, ',');
      setup.name = fmt::format("{}_{}", architecture, setup.name);
      all.push_back(std::move(setup));
    }
  const auto add = [&](const std::string& name, const std::string& architecture, auto&& change) {
    all.push_back({name, small_config(architecture)});
    change(all.back().config);
  };
  for (const std::string relative : {"shaw", "rotary", "alibi"}) {
    for (const char* architecture : {"bahdanau", "transformer"}) {
      add(fmt::format("{}_cross_{}", architecture, relative), architecture, [&](ModelConfig& c) {
        c.attention.relative = c.self_attention.relative = relative;
        c.attention.score = "scaled-dot";
        c.attention.heads = 2;
      });
    }
  }
  add("transformer_swish", "transformer", [](ModelConfig& c) { c.activation = "swish"; });
  add("transformer_gelu_erf", "transformer", [](ModelConfig& c) { c.activation = "gelu-erf"; });
  add("transformer_post_gelu_tied", "transformer", [](ModelConfig& c) {
    c.norm = "post", c.activation = "gelu", c.tie_embeddings = true;
    c.decoder_layers = c.encoder_layers = 2;
  });
  for (const char* cell : {"tanh", "gru", "lstm"}) {
    add(fmt::format("deep_{}", cell), "bahdanau", [&](ModelConfig& c) {
      c.cell = cell, c.bidirectional = c.residual = true;
      c.encoder_layers = 3, c.decoder_layers = 2, c.tie_embeddings = true;
    });
  }
  for (Setup& setup : all) cases.push_back({setup.name, [setup] { return text_case(setup); }});
}

void add_classifiers(std::vector<NamedCase>& cases) {
  for (const std::string encoder : {"recurrent", "transformer"}) {
    for (const std::string pooling : {"attention", "structured", "mean", "max"}) {
      std::vector<std::string> poolings = {pooling};
      if (pooling == "structured") poolings = {pooling, "mean", "max"};
      cases.push_back({fmt::format("classifier_{}_{}", encoder, pooling),
                       [=] { return classifier_case(encoder, poolings, pooling == "max" ? 7 : 0); }});
    }
  }
}

void add_image_cases(std::vector<NamedCase>& cases) {
  const auto add = [&](const std::string& name, auto make, VisionConfig vision, auto&& change) {
    change(vision);
    cases.push_back({name, [=] { return make(name, vision); }});
  };
  const VisionConfig mobilenet = small_vision("mobilenet-edgetpu", "blocks.14", true);
  const VisionConfig resnet = small_vision("resnet-small", "", false);
  add("caption_frozen", caption_case, mobilenet, [](VisionConfig& v) { v.positions = "learned", v.depth = 8; });
  add("caption_frozen_nonlocal", caption_case, mobilenet,
      [](VisionConfig& v) { v.nonlocal = "gaussian", v.depth = 8; });
  add("caption_trained", caption_case, resnet, [](VisionConfig& v) { v.positions = "sinusoidal"; });
  add("caption_mobilenet_nonlocal", caption_case, mobilenet,
      [](VisionConfig& v) { v.frozen = false, v.layer = "blocks.2", v.nonlocal = "embedded-gaussian"; });
  for (const NonLocalForm& form : nonlocal_forms()) {
    add(fmt::format("images_{}", form.name), image_classifier_case, resnet,
        [&](VisionConfig& v) { v.layer = "stages.1", v.nonlocal = form.name; });
  }
  add("images_subsampled", image_classifier_case, resnet,
      [](VisionConfig& v) { v.layer = "stages.0", v.nonlocal = "dot", v.size = 66; });
}

}  // namespace

std::vector<NamedCase> all_cases() {
  std::vector<NamedCase> cases;
  add_text_cases(cases);
  add_classifiers(cases);
  add_image_cases(cases);
  return cases;
}

}  // namespace fovea::onnx
