// The examples of a classifier's training run, texts or pictures, with their classes and their weights in the loss.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "models/encoder.h"
#include "tasks/task.h"
#include "text/labelled_text.h"

namespace fovea {

// A part of a batch on the device.
struct LabelledBatch {
  Source source;
  Tensor labels;   // i32 [B]
  Tensor weights;  // f32 [B]: of each example in the loss; those of a whole batch add up to 1
};

class LabelledData {
 public:
  using Read = std::function<LabelledText(const std::string& path)>;

  // Reads data.train and data.valid, or holds out a part. `what` is the name of an example in messages: "text".
  LabelledData(const TaskSetup& setup, std::string_view what, const Read& read);

  const LabelledText& train() const { return train_; }
  const LabelledText& valid() const { return valid_; }
  const std::vector<std::string>& labels() const { return labels_; }            // of the classes, sorted
  const std::vector<int32_t>& valid_classes() const { return valid_classes_; }  // kUnseenClass for an unknown label
  const std::vector<std::string>& messages() const { return messages_; }

  // Labels and weights of some rows of the training data, which are a part of the rows of a batch.
  LabelledBatch targets(std::span<const int64_t> part, std::span<const int64_t> batch, Device device) const;

 private:
  void read_all(const TaskSetup& setup, const Read& read);
  void learn_labels();
  void skip_unwanted(bool drop_duplicates);
  std::vector<int32_t> classes_of(const LabelledText& text) const;
  void warn_of_unseen(const std::vector<std::string>& files);
  void weigh_classes(bool balanced);

  std::string what_;
  LabelledText train_, valid_;
  std::vector<std::string> labels_;
  std::vector<int32_t> classes_, valid_classes_;
  std::vector<float> class_weights_;
  std::vector<std::string> messages_;
};

}  // namespace fovea
