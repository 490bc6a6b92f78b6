// checkpoint.safetensors: the weights and moving averages as tensors, everything else as metadata. A run
// that is resumed from it makes the same steps as one that was never stopped.
#include <charconv>

#include "base/error.h"
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
  if (!device_.on_host()) take_loss();  // what is not finite is not kept
  progress_.minutes = minutes();
  began_ = saved_ = Clock::now();
  std::vector<NamedTensor> tensors = named_tensors(parameters_, parameters_.values(), "weights.");
  const auto add = [&](const Tensor& all, const std::string& prefix) {
    if (!all) return;
    for (NamedTensor& tensor : named_tensors(parameters_, all, prefix)) tensors.push_back(std::move(tensor));
  };
  add(optimiser_->first_moment(), "first.");
  add(optimiser_->second_moment(), "second.");
  add(average_, "average.");
  const Batcher::State text = text_.state();
  const auto number = [](auto x) { return fmt::format("{}", x); };  // the shortest text that reads back the same
  write_safetensors(checkpoint_path(recipe_.folder), tensors,
                    {{"format", "fovea checkpoint 1"},
                     {"step", number(progress_.step)},
                     {"optimiser_steps", number(optimiser_->steps())},
                     {"tape_step", number(tape_.step())},
                     {"epoch", number(text.epoch)},
                     {"next_batch", number(text.next)},
                     {"minutes", number(progress_.minutes)},
                     {"best", number(progress_.best)},
                     {"best_loss", number(progress_.best_loss)},
                     {"validations", number(progress_.validations)},
                     {"waited", number(progress_.waited)},
                     {"schedule_scale", number(schedule_.state().scale)},
                     {"schedule_waited", number(schedule_.state().waited)},
                     {"baseline", number(objective_.baseline())}});
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
  const Metadata state(file.path(), file.metadata());
  progress_ = {.step = state.get<int64_t>("step"),
               .minutes = state.get<double>("minutes"),
               .best = state.get<double>("best"),
               .best_loss = state.get<double>("best_loss"),
               .validations = state.get<int64_t>("validations"),
               .waited = state.get<int64_t>("waited")};
  optimiser_->set_steps(state.get<int64_t>("optimiser_steps"));
  tape_.set_step(state.get<int64_t>("tape_step"));
  text_.set_state({.epoch = state.get<int64_t>("epoch"), .next = state.get<int64_t>("next_batch")});
  schedule_.set_state({.scale = state.get<double>("schedule_scale"), .waited = state.get<int64_t>("schedule_waited")});
  objective_.set_baseline(state.get<double>("baseline"));
}

}  // namespace fovea
