// checkpoint.safetensors: weights and moving averages as tensors, everything else as metadata, the state of the task
// included. A run that is resumed from it makes the same steps as one that was never stopped.
#include <charconv>

#include "base/error.h"
#include "store/model_folder.h"
#include "store/safetensors.h"
#include "train/trainer.h"

namespace fovea {

namespace {

class Metadata {
 public:
  Metadata(const std::string& path, const std::map<std::string, std::string>& values) : path_(path), values_(values) {}
  template <class T> T get(const std::string& key) const {
    const auto found = values_.find(key);
    check(found != values_.end(), "{}: expected metadata for {}, got none", path_, key);
    T value{};
    const std::string& text = found->second;
    const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
    check(result.ec == std::errc() && result.ptr == text.data() + text.size(), "{}: {}: expected a number, got {}",
          path_, key, text);
    return value;
  }

 private:
  const std::string& path_;
  const std::map<std::string, std::string>& values_;
};

}  // namespace

void Trainer::save_checkpoint() {
  if (!device_.on_host()) read_loss(loss_sum_);  // weights after a loss that is not finite are not saved
  state_.minutes = minutes();
  began_ = saved_ = Clock::now();
  std::vector<NamedTensor> tensors = named_tensors(parameters_, parameters_.values(), "weights.");
  const auto add = [&](const Tensor& all, const std::string& prefix) {
    if (!all) return;
    for (NamedTensor& tensor : named_tensors(parameters_, all, prefix)) tensors.push_back(std::move(tensor));
  };
  add(optimiser_->first_moment(), "first.");
  add(optimiser_->second_moment(), "second.");
  add(average_, "average.");
  const auto number = [](auto x) { return fmt::format("{}", x); };  // the shortest text that reads back the same
  std::map<std::string, std::string> metadata = {{"format", "fovea checkpoint 1"},
                                                 {"step", number(state_.step)},
                                                 {"optimiser_steps", number(optimiser_->steps())},
                                                 {"tape_step", number(tape_.step())},
                                                 {"minutes", number(state_.minutes)},
                                                 {"best", number(state_.best)},
                                                 {"best_loss", number(state_.best_loss)},
                                                 {"validations", number(state_.validations)},
                                                 {"waited", number(state_.validations_since_best)},
                                                 {"schedule_scale", number(schedule_.state().scale)},
                                                 {"schedule_waited", number(schedule_.state().validations_since_best)}};
  for (const auto& [key, value] : task_->state()) {
    check(metadata.emplace(key, number(value)).second, "task: expected keys that the trainer does not use, got {}",
          key);
  }
  write_safetensors(checkpoint_path(recipe_.folder), tensors, metadata);
}

void Trainer::load_checkpoint() {
  const SafetensorsFile file(checkpoint_path(recipe_.folder));
  const auto format = file.metadata().find("format");
  check(format != file.metadata().end() && format->second == "fovea checkpoint 1",
        "{}: expected a training checkpoint, got another kind of safetensors file", file.path());
  const auto load = [&](const Tensor& all, const std::string& prefix) {
    if (all) read_tensors(file, parameters_, all, prefix);
  };
  load(parameters_.values(), "weights.");
  load(optimiser_->first_moment(), "first.");
  load(optimiser_->second_moment(), "second.");
  load(average_, "average.");
  const Metadata metadata(file.path(), file.metadata());
  state_ = {.step = metadata.get<int64_t>("step"),
            .minutes = metadata.get<double>("minutes"),
            .best = metadata.get<double>("best"),
            .best_loss = metadata.get<double>("best_loss"),
            .validations = metadata.get<int64_t>("validations"),
            .validations_since_best = metadata.get<int64_t>("waited")};
  optimiser_->set_steps(metadata.get<int64_t>("optimiser_steps"));
  tape_.set_step(metadata.get<int64_t>("tape_step"));
  schedule_.set_state({.scale = metadata.get<double>("schedule_scale"),
                       .validations_since_best = metadata.get<int64_t>("schedule_waited")});
  std::map<std::string, double> task = task_->state();
  for (auto& [key, value] : task) value = metadata.get<double>(key);
  task_->set_state(task);
}

}  // namespace fovea
