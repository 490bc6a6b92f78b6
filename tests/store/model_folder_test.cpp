#include "store/model_folder.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "base/files.h"
#include "support.h"
#include "temporary_folder.h"

namespace fovea {
namespace {

struct Saved {
  Saved() {
    const std::vector<std::string> lines = {"a b c d", "d c b a"};
    VocabularyOptions options;
    options.kind = "word";
    vocabulary = train_vocabulary(lines, options).vocabulary;
    config.source_words = config.target_words = vocabulary->size();
    config.model.embedding = 6;
    config.model.hidden = 5;
    model = make_model(parameters, config.model, {vocabulary->size(), vocabulary->size()});
    parameters.allocate(3);
    save_model_description(folder.path(), config, *vocabulary, *vocabulary);
    save_weights(folder.path(), parameters, parameters.values());
  }
  TemporaryFolder folder;
  std::unique_ptr<Vocabulary> vocabulary;
  FolderConfig config;
  Parameters parameters{Device::cpu()};
  std::unique_ptr<EncoderDecoder> model;
};

std::vector<float> logits(const EncoderDecoder& model) {
  const Device cpu = Device::cpu();
  const Source source{from_host(std::vector<int32_t>{4, 5, 6, 3}, {4, 1}, cpu),
                      from_host(std::vector<int32_t>{4}, {1}, cpu)};
  return to_host<float>(
      model.teacher_force(source, from_host(std::vector<int32_t>{2, 5, 4}, {3, 1}, cpu)).logits.value());
}

TEST(ModelFolder, AReloadedModelGivesTheSameLogits) {
  const Saved saved;
  const LoadedModel loaded = load_model(saved.folder.path(), Device::cpu());
  EXPECT_EQ(logits(*loaded.model), logits(*saved.model));
  EXPECT_EQ(loaded.source->bytes(), saved.vocabulary->bytes());
  EXPECT_EQ(loaded.config.model.hidden, 5);
}

TEST(ModelFolder, APackedModelGivesAlmostTheSameLogits) {
  const Saved saved;
  const TemporaryFolder packed;
  save_packed(packed.file("model"), load_model(saved.folder.path(), Device::cpu()));
  const std::vector<float> before = logits(*saved.model);
  const std::vector<float> after = logits(*load_model(packed.file("model"), Device::cpu()).model);
  for (size_t i = 0; i < before.size(); ++i) EXPECT_NEAR(after[i], before[i], 0.02f);
  EXPECT_NE(after, before);
}

TEST(ModelFolder, APackedModelHasAVocabularyOfBothSidesOnce) {
  const Saved saved;
  const TemporaryFolder packed;
  const std::string folder = packed.file("model");
  save_packed(folder, load_model(saved.folder.path(), Device::cpu()));
  EXPECT_TRUE(std::filesystem::exists(folder + "/source.vocab"));
  EXPECT_FALSE(std::filesystem::exists(folder + "/target.vocab"));
  EXPECT_TRUE(has_side(folder, "target"));
  EXPECT_FALSE(has_side(folder, "characters"));
  const LoadedModel loaded = load_model(folder, Device::cpu());
  EXPECT_EQ(loaded.target->bytes(), saved.vocabulary->bytes());
  // It may be packed again.
  save_packed(packed.file("again"), loaded);
  EXPECT_EQ(read_file(packed.file("again/model.safetensors")), read_file(folder + "/model.safetensors"));

  // A classifier's vocabulary is not that of a target.
  std::string config = read_file(folder + "/config.json");
  config.replace(config.find("\"sequence\""), 10, "\"classify\"");
  write_file_atomically(folder + "/config.json", config);
  EXPECT_FALSE(has_side(folder, "target"));
}

TEST(ModelFolder, APackedModelHasTwoVocabulariesThatDiffer) {
  const Saved saved;
  LoadedModel model = load_model(saved.folder.path(), Device::cpu());
  const std::vector<std::string> lines = {"e f g h"};
  VocabularyOptions options;
  options.kind = "word";
  model.target = train_vocabulary(lines, options).vocabulary;
  const TemporaryFolder packed;
  save_packed(packed.file("model"), model);
  EXPECT_EQ(load_model(packed.file("model"), Device::cpu()).target->bytes(), model.target->bytes());
}

TEST(ModelFolder, ErrorsNameTheFileAtFault) {
  const Saved saved;
  const std::string folder = saved.folder.path();
  EXPECT_ERROR(load_model(folder + "/nowhere", Device::cpu()), "expected a model folder, got no such folder");
  EXPECT_ERROR(load_model(folder + "/config.json", Device::cpu()), "expected a model folder, got a file");
  const TemporaryFolder empty;
  EXPECT_ERROR(load_model(empty.path(), Device::cpu()), "expected a model folder, got a folder without config.json");

  const std::string config = read_file(folder + "/config.json");
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string text = config;
    text.replace(text.find(from), from.size(), to);
    write_file_atomically(folder + "/config.json", text);
  };
  with("\"hidden\": 5", "\"hidden\": 7");
  EXPECT_ERROR(load_model(folder, Device::cpu()), "model.safetensors: ");
  with("\"hidden\": 5", "\"hiden\": 5");
  EXPECT_ERROR(load_model(folder, Device::cpu()), "config.json: ");
  EXPECT_ERROR(load_model(folder, Device::cpu()), "model.hidden");
  with("\"hidden\": 5", R"("hidden": "five")");
  EXPECT_ERROR(load_model(folder, Device::cpu()), "expected an integer");
  with("\"source_words\": 8", "\"source_words\": 9");
  EXPECT_ERROR(load_model(folder, Device::cpu()), "source.vocab: expected 9 tokens, as in config.json, got 8");
  with("\"format\": 1", "\"format\": 2");
  EXPECT_ERROR(load_model(folder, Device::cpu()), "config.json: format");
  write_file_atomically(folder + "/config.json", "{");
  EXPECT_ERROR(load_model(folder, Device::cpu()), "config.json: expected JSON in UTF-8");
  write_file_atomically(folder + "/config.json", "[]");
  EXPECT_ERROR(load_model(folder, Device::cpu()), "config.json: expected a JSON object, got a list of 0");
  write_file_atomically(folder + "/config.json", std::string(100'000, '['));
  EXPECT_ERROR(load_model(folder, Device::cpu()), "config.json: expected JSON nested at most 64 levels deep");
  write_file_atomically(folder + "/config.json", config);

  const std::string weights = read_file(folder + "/model.safetensors");
  write_file_atomically(folder + "/model.safetensors", weights.substr(0, weights.size() / 2));
  EXPECT_ERROR(load_model(folder, Device::cpu()), "model.safetensors: ");
  std::filesystem::remove(folder + "/model.safetensors");
  EXPECT_ERROR(load_model(folder, Device::cpu()), "model.safetensors: cannot open");
  write_file_atomically(folder + "/model.safetensors", weights);
  std::filesystem::remove(folder + "/target.vocab");
  with("\"target_words\": 8", "\"target_words\": 9");
  EXPECT_ERROR(
      load_model(folder, Device::cpu()),
      "source.vocab: expected 9 tokens, because there is no other vocabulary for the target, as in config.json");
  std::filesystem::remove(folder + "/source.vocab");
  EXPECT_ERROR(load_model(folder, Device::cpu()), "source.vocab, found neither");
}

}  // namespace
}  // namespace fovea
