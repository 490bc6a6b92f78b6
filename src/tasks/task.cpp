#include "tasks/task.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "base/error.h"
#include "recipe/recipe.h"
#include "store/model_folder.h"
#include "store/shipped.h"
#include "tasks/answer_task.h"
#include "tasks/caption_task.h"
#include "tasks/captioner.h"
#include "tasks/classifier.h"
#include "tasks/classify_task.h"
#include "tasks/image_classifier.h"
#include "tasks/image_classify_task.h"
#include "tasks/reader.h"
#include "tasks/sequence_task.h"
#include "text/sentencepiece_import.h"

namespace fovea {

std::shared_ptr<const Vocabulary> TaskSetup::known_vocabulary(const std::string& stem) const {
  if (!resume_folder.empty()) return load_side(resume_folder, stem);
  const VocabularyConfig& side =
      stem == "source" || recipe.data.shared_vocabulary ? recipe.source_vocabulary : recipe.target_vocabulary;
  if (!side.model.empty() && (stem == "source" || stem == "target")) return import_sentencepiece(side.model);
  if (recipe.training.pretrained.empty()) return nullptr;
  const std::string pretrained = find_model(recipe.training.pretrained);
  return has_side(pretrained, stem) ? load_side(pretrained, stem) : nullptr;
}

const std::vector<std::string>& Task::messages() const {
  static const std::vector<std::string> none;
  return none;
}
int64_t Task::split(int64_t) { return 1; }
int64_t Task::part_tokens() const { return 0; }
std::string Task::metric() const { return "loss"; }
bool Task::higher_is_better() const { return false; }

void PredictorOptions::describe(Fields& f) {
  f.add("device", device, "Device: cpu, cuda, cuda:N, or auto (a GPU if there is one).");
  f.add(
       "precision", precision,
       "Precision of matrix products, where the CPU has instructions for it; auto: the faster one of f32 and bf16, but "
       "int8 for a model that writes text and whose weights are stored in 8 bits.")
      .choices({"auto", "f32", "bf16", "int8"});
}

std::span<const TaskEntry> tasks() {
  static constexpr std::array kEntries = {
      TaskEntry{kTaskNames[0].name, kTaskNames[0].help, "translate", make_sequence_task, load_sequence_predictor},
      TaskEntry{kTaskNames[1].name, kTaskNames[1].help, "summarise", make_sequence_task, load_sequence_predictor},
      TaskEntry{kTaskNames[2].name, kTaskNames[2].help, "chat", make_sequence_task, load_sequence_predictor},
      TaskEntry{kTaskNames[3].name, kTaskNames[3].help, "classify", make_classify_task, load_classify_predictor},
      TaskEntry{kTaskNames[4].name, kTaskNames[4].help, "answer", make_answer_task, load_reader_predictor},
      TaskEntry{kTaskNames[5].name, kTaskNames[5].help, "caption", make_caption_task, load_caption_predictor},
      TaskEntry{kTaskNames[6].name, kTaskNames[6].help, "classify", make_image_classify_task,
                load_image_classify_predictor},
  };
  static_assert(kEntries.size() == kTaskNames.size(), "every task that a recipe may name has an entry");
  return kEntries;
}

const TaskEntry& task_named(std::string_view name) {
  const auto found = std::find_if(tasks().begin(), tasks().end(), [&](const TaskEntry& t) { return t.name == name; });
  std::vector<std::string_view> names;
  for (const TaskEntry& entry : tasks()) names.push_back(entry.name);
  check(found != tasks().end(), "task: expected one of {}, got {}", fmt::join(names, ", "), name);
  return *found;
}

std::unique_ptr<Predictor> load_predictor(const std::string& folder, const PredictorOptions& options) {
  return task_named(task_of_model(folder)).load(folder, options);
}

}  // namespace fovea
