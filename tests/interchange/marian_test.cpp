// Models of Hugging Face, read and written.
#include <filesystem>

#include "interchange/samples.h"
#include "store/folder_config.h"
#include "store/marian_export.h"
#include "support.h"
#include "temporary_folder.h"
#include "text/renumbered_vocabulary.h"

namespace fovea {

namespace {

class Marian : public testing::TestWithParam<const char*> {};

TEST_P(Marian, AnswersAsTheReference) {
  expect_as_reference(sample_folder(GetParam()), expected_of(GetParam()), read_marian(sample_folder(GetParam())));
}

INSTANTIATE_TEST_SUITE_P(Samples, Marian,
                         testing::Values("shared-relu", "separate-swish", "pre-norm", "tags-gelu", "untied",
                                         "unscaled-learned"),
                         [](const auto& about) {
                           std::string name = about.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

// Through the folder that transformers would load: the same outputs.
class MarianRoundTrip : public testing::TestWithParam<const char*> {};

TEST_P(MarianRoundTrip, ExportIsReadBackTheSame) {
  const TemporaryFolder folder;
  const std::string written = folder.file("written");
  export_marian(load_model(sample_folder(GetParam()), Device::cpu()), written);
  const nlohmann::json cases = expected_of(GetParam());
  const Translator translator = translator_of(written);
  EXPECT_EQ(translations(translator, cases, 1), texts_at(cases, "greedy_text"));
  EXPECT_EQ(translations(translator, cases, 4), texts_at(cases, "beam_text"));
  for (const char* name : {"config.json", "generation_config.json", "tokenizer_config.json", "vocab.json", "source.spm",
                           "target.spm", "model.safetensors"}) {
    EXPECT_TRUE(std::filesystem::exists(written + "/" + name)) << name;
  }
}

INSTANTIATE_TEST_SUITE_P(Samples, MarianRoundTrip,
                         testing::Values("shared-relu", "separate-swish", "tags-gelu", "untied"),
                         [](const auto& about) {
                           std::string name = about.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

TEST(MarianFolder, DescribesItself) {
  const FolderConfig config = read_folder_config(sample_folder("shared-relu"));
  EXPECT_EQ(config.model.norm, "post");
  EXPECT_EQ(config.model.activation, "relu");
  EXPECT_TRUE(config.model.tie_embeddings);
  EXPECT_EQ(config.max_source, 31);
  EXPECT_EQ(config.decoding.beam, 4);
  EXPECT_EQ(config.decoding.split_above, 0);
  EXPECT_EQ(task_of_model(sample_folder("shared-relu")), "sequence");
  EXPECT_ERROR(store_decoding_defaults(sample_folder("shared-relu"), {}), "of another program");
}

TEST(MarianFolder, ALanguageTagIsOneToken) {
  const auto source = load_side(sample_folder("tags-gelu"), "source");
  const std::vector<Token> tokens = source->tokenise(">>deu<< the cat");
  EXPECT_EQ(source->piece(tokens[0].id), ">>deu<<");
  EXPECT_EQ(tokens[0].begin, 0u);
  EXPECT_EQ(tokens[0].end, 7u);
  EXPECT_EQ(tokens[1].begin, 8u);
  EXPECT_EQ(tokens[1].text.front(), 't');
  EXPECT_EQ(source->encode(">>xyz<< the cat")[0], kUnknown);  // one token, too
  EXPECT_EQ(source->encode("the >>deu<< cat").size(), source->tokenise("the >>deu<< cat").size());
}

TEST(MarianFolder, AVocabularyIsStoredAndReadBack) {
  const auto vocabulary = load_side(sample_folder("tags-gelu"), "source");
  const TemporaryFolder folder;
  save_vocabulary(*vocabulary, folder.path(), "source");
  const auto again = load_vocabulary(folder.path(), "source");
  ASSERT_EQ(again->size(), vocabulary->size());
  for (int32_t id = 0; id < again->size(); ++id) EXPECT_EQ(again->piece(id), vocabulary->piece(id));
  EXPECT_EQ(again->encode(">>nld<< the cat"), vocabulary->encode(">>nld<< the cat"));
  EXPECT_EQ(again->bytes(), vocabulary->bytes());
  // It is a SentencePiece model without the list, too.
  EXPECT_EQ(sentencepiece_model(again->bytes()), bytes_of_file(sample_folder("tags-gelu") + "/source.spm"));
}

TEST(MarianFolder, DecodesToTextWithPlaces) {
  const auto target = load_side(sample_folder("shared-relu"), "target");
  const std::vector<int32_t> ids = target->encode("die Katze");
  std::vector<Token> tokens;
  EXPECT_EQ(target->decode(ids, &tokens), "die Katze");
  ASSERT_EQ(tokens.size(), ids.size());
  for (const Token& token : tokens)
    EXPECT_EQ(token.text, std::string("die Katze").substr(token.begin, token.end - token.begin));
}

TEST(MarianFolder, ItsModelIsPackedAsOneOfOurs) {
  const TemporaryFolder folder;
  save_packed(folder.file("packed"), load_model(sample_folder("separate-swish"), Device::cpu()));
  const nlohmann::json cases = expected_of("separate-swish");
  EXPECT_EQ(translations(translator_of(folder.file("packed")), cases, 1).size(), cases.size());
}

// A copy of a sample whose config.json has another value.
void change(const TemporaryFolder& folder, const std::string& sample, const std::string& key,
            const nlohmann::json& value) {
  std::filesystem::copy(sample_folder(sample), folder.path(), kCopy);
  nlohmann::json config = nlohmann::json::parse(bytes_of_file(folder.file("config.json")));
  config[key] = value;
  folder.file("config.json", config.dump());
}

TEST(MarianFolder, RefusesWhatItDoesNotHave) {
  const struct {
    const char* key;
    nlohmann::json value;
    const char* message;
  } cases[] = {
      {"model_type", "t5", "model_type: expected marian"},
      {"activation_function", "tanh", "activation_function: expected relu"},
      {"normalize_before", true, "add_final_layer_norm"},
      {"normalize_embedding", true, "normalize_embedding"},
      {"decoder_attention_heads", 2, "decoder_attention_heads"},
      {"encoder_attention_heads", 0, "encoder_attention_heads"},
      {"decoder_ffn_dim", 8, "decoder_ffn_dim"},
      {"d_model", 32, "expected the shape"},
      {"d_model", -1, "d_model"},
      {"d_model", "many", "d_model"},
      {"d_model", 1048576, "expected the shape"},
      {"encoder_layers", 3, "model.encoder.layers.2."},
      {"encoder_layers", 1000000, "encoder_layers"},
      {"decoder_layers", 1, "has no place"},
      {"vocab_size", 16000000, "expected the shape"},
      {"vocab_size", 5, "expected the shape"},
      {"eos_token_id", -3, "eos_token_id"},
      {"decoder_start_token_id", 1000, "decoder_start_token_id"},
      {"num_beams", 1e9, "num_beams"},
  };
  for (const auto& c : cases) {
    const TemporaryFolder folder;
    change(folder, "shared-relu", c.key, c.value);
    EXPECT_ERROR(load_model(folder.path(), Device::cpu()), c.message);
  }
  const TemporaryFolder folder;
  change(folder, "shared-relu", "num_beams", 1);
  std::filesystem::remove(folder.file("model.safetensors"));
  EXPECT_ERROR(load_model(folder.path(), Device::cpu()), "model.safetensors or pytorch_model.bin");
}

// Every setting of ours that MarianMTModel lacks is named.
TEST(MarianExport, RefusesWhatMarianCannotExpress) {
  const LoadedModel good = load_model(sample_folder("shared-relu"), Device::cpu());
  const TemporaryFolder folder;
  const auto refused = [&](auto&& edit, const std::string& message) {
    LoadedModel model = good;
    edit(model.config);
    EXPECT_ERROR(export_marian(model, folder.file("out")), message);
    EXPECT_FALSE(std::filesystem::exists(folder.file("out")));
  };
  refused([](FolderConfig& c) { c.model.architecture = "bahdanau"; }, "model.architecture = bahdanau");
  refused([](FolderConfig& c) { c.model.encoder = "recurrent"; }, "model.encoder = recurrent");
  refused([](FolderConfig& c) { c.model.norm = "pre"; }, "model.norm = pre");
  refused([](FolderConfig& c) { c.model.positions = "learned"; }, "model.positions = learned");
  refused([](FolderConfig& c) { c.model.copy = "mixture"; }, "model.copy = mixture");
  refused([](FolderConfig& c) { c.model.attention.score = "additive"; }, "model.attention.score = additive");
  refused([](FolderConfig& c) { c.model.self_attention.relative = "rotary"; },
          "model.self_attention.relative = rotary");
  refused([](FolderConfig& c) { c.model.self_attention.scope = "local-m"; }, "model.self_attention.scope = local-m");
  refused([](FolderConfig& c) { c.model.attention.selection = "sparse"; }, "model.attention.selection = sparse");
  refused([](FolderConfig& c) { c.model.attention.heads = 2; }, "model.attention.heads = 2");
  refused([](FolderConfig& c) { c.end_source = false; }, "end_source = false");
  refused([](FolderConfig& c) { c.reverse_source = true; }, "reverse_source = true");
}

}  // namespace

}  // namespace fovea
