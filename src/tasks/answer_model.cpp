#include "tasks/answer_model.h"

#include <filesystem>
#include <system_error>

#include "base/error.h"
#include "base/files.h"
#include "base/json.h"
#include "store/json_fields.h"
#include "store/model_folder.h"
#include "store/safetensors.h"

namespace fovea {

void AnswerFolderConfig::describe(Fields& f) {
  f.add("format", format, "Version of this file format.").at_least(1).at_most(1);
  f.add("task", task, "What the model does: answer (reading comprehension).");
  f.add("source_words", source_words, "Size of the vocabulary.").at_least(4);
  f.add("character_words", character_words, "Size of the vocabulary of characters; 0 without one.").at_least(0);
  f.section("answer", answer);
  f.section("model", model);
}

LoadedReader make_reader(Parameters& parameters, const AnswerConfig& answer, const ModelConfig& model,
                         std::shared_ptr<const Vocabulary> vocabulary, std::shared_ptr<const Vocabulary> characters) {
  check(answer.stride <= answer.window, "answer.stride: expected at most answer.window = {}, got {}", answer.window,
        answer.stride);
  LoadedReader reader;
  reader.config.source_words = vocabulary->size();
  reader.config.character_words = characters ? characters->size() : 0;
  reader.config.answer = answer;
  reader.config.model = model;
  if (model.encoder.empty()) reader.config.model.encoder = "recurrent";
  reader.vocabulary = std::move(vocabulary);
  reader.characters = std::move(characters);
  reader.parameters = {std::shared_ptr<const Parameters>(), &parameters};  // the caller owns them
  reader.model = make_span_model(parameters, reader.config.model, answer,
                                 {reader.config.source_words, reader.config.character_words});
  const int64_t limit = reader.model->max_source();
  const int64_t most = answer.joint() ? answer.window + answer.max_question + 1 : answer.window;
  check(limit == 0 || most <= limit, "model.longest: expected at least {}, for a window{}, got {}", most,
        answer.joint() ? ", a question and a separator" : "", limit);
  return reader;
}

LoadedReader load_reader(const std::string& folder, Device device) {
  AnswerFolderConfig config;
  const std::string task = task_of_model(folder), path = folder + "/config.json";
  check(task == config.task, "{}: expected a model of the task {}, got one of the task {}", folder, config.task,
        brief(task));
  Fields fields = fields_of(config);
  fields_from_json(fields, read_file(path), path);
  const auto load = [&](const std::string& name, int64_t words) -> std::shared_ptr<const Vocabulary> {
    std::shared_ptr<const Vocabulary> vocabulary = load_vocabulary(folder, name);
    check(vocabulary->size() == words, "{}/{}.{}: expected {} tokens, as in config.json, got {}", folder, name,
          vocabulary->extension(), words, vocabulary->size());
    return vocabulary;
  };
  std::shared_ptr<const Vocabulary> vocabulary = load("source", config.source_words), characters;
  check(config.answer.reads_characters() == (config.character_words > 0),
        "{}: character_words: expected a number above 0 exactly if answer.character_filters is above 0", path);
  if (config.answer.reads_characters()) characters = load("characters", config.character_words);
  const auto parameters = std::make_shared<Parameters>(device);
  LoadedReader reader = make_reader(*parameters, config.answer, config.model, vocabulary, characters);
  parameters->allocate_unset();
  load_weights(folder, *parameters);
  reader.parameters = parameters;
  return reader;
}

void save_reader_description(const std::string& folder, const LoadedReader& reader) {
  std::error_code code;
  std::filesystem::create_directories(folder, code);
  check(!code, "{}: cannot create the folder: {}", folder, code.message());
  AnswerFolderConfig config = reader.config;
  write_file_atomically(folder + "/config.json", fields_to_json(fields_of(config)));
  save_vocabulary(*reader.vocabulary, folder, "source");
  if (reader.characters) save_vocabulary(*reader.characters, folder, "characters");
}

void save_packed_reader(const std::string& folder, const LoadedReader& reader) {
  save_reader_description(folder, reader);
  write_packed_safetensors(folder + "/model.safetensors",
                           named_tensors(*reader.parameters, reader.parameters->values()), {{"format", "fovea"}});
}

}  // namespace fovea
