#include "models/answer_config.h"

#include "base/fields.h"

namespace fovea {

void AnswerConfig::describe(Fields& f) {
  f.add("interaction", interaction,
        "How question and passage meet: attention-flow (BiDAF, Seo et al. 2017), or joint: one encoder reads both as "
        "one sequence.")
      .choices({"attention-flow", "joint"});
  f.add("window", window, "Tokens of a passage that are read at once; a longer passage is read in overlapping windows.")
      .at_least(1)
      .also_called({"max_seq_length", "max_passage", "max_length"});
  f.add("stride", stride, "Tokens from the start of a window to the start of the next; at most window.")
      .at_least(1)
      .also_called({"doc_stride"});
  f.add("max_answer", max_answer, "Maximum length of an answer in tokens.")
      .at_least(1)
      .also_called({"max_answer_length"});
  f.add("max_question", max_question,
        "Maximum length of a question in tokens; a longer one is truncated with a warning.")
      .at_least(1)
      .also_called({"max_query_length"});
  f.add("modelling_layers", modelling_layers, "attention-flow: recurrent layers after the attention.")
      .at_least(1)
      .needs(!joint(), f.key("interaction") + " = attention-flow");
  f.add("character_filters", character_filters,
        "Filters of the convolution over the characters of each token; 0 to read no characters.")
      .at_least(0);
  const std::string need_characters = f.key("character_filters") + " above 0";
  f.add("character_embedding", character_embedding, "Embedding size of characters.")
      .at_least(1)
      .needs(reads_characters(), need_characters);
  f.add("character_width", character_width, "Width of these filters in characters.")
      .at_least(1)
      .needs(reads_characters(), need_characters);
  f.add("max_word", max_word, "Characters of a token that are read; more are left out.")
      .at_least(1)
      .needs(reads_characters(), need_characters);
  f.add(
      "match_features", match_features,
      "Tell the model which tokens of the passage occur in the question (Chen et al. 2017), and which sentence shares "
      "most words with it.");
  f.add("lowercase", lowercase, "word, character: look up tokens in lower case; characters are read as written.");
}

}  // namespace fovea
