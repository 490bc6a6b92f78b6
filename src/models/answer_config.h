// The settings of reading comprehension, in a recipe's section [answer] and in a model folder's config.json.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace fovea {

class Fields;

struct AnswerConfig {
  std::string interaction = "attention-flow";
  int64_t window = 400, stride = 200;
  int64_t max_answer = 30, max_question = 100;
  int64_t modelling_layers = 2;
  int64_t character_embedding = 16, character_filters = 64, character_width = 5, max_word = 16;
  bool match_features = true;
  bool lowercase = true;

  // Whether question and passage are read as one sequence.
  bool joint() const { return interaction == "joint"; }
  bool reads_characters() const { return character_filters > 0; }
  void describe(Fields& fields);
};

}  // namespace fovea
