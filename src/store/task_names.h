// The tasks that a recipe and config.json may name. src/tasks has an entry for each, in the same order.
#pragma once

#include <algorithm>
#include <array>
#include <string_view>

namespace fovea {

struct TaskName {
  std::string_view name, help;
  bool text_to_text = false;  // its model encodes a line and decodes a line, as `LoadedModel` does
};
inline constexpr std::array kTaskNames = {
    TaskName{"sequence", "Text to text: translation, transliteration and every other mapping of lines to lines.", true},
    TaskName{"summarise", "Text to text: a document to its summary or title.", true},
    TaskName{"dialogue", "Text to text: the turns of a conversation so far to the reply.", true},
    TaskName{"classify", "Text to one of several classes: sentiment, topic, type of question."},
    TaskName{"answer", "Reading comprehension: the answer to a question is a piece of a passage."},
    TaskName{"caption", "A picture to its caption."},
    TaskName{"classify-images", "A picture to one of several classes."},
};

constexpr bool is_text_to_text(std::string_view task) {
  return std::any_of(kTaskNames.begin(), kTaskNames.end(),
                     [&](const TaskName& entry) { return entry.text_to_text && entry.name == task; });
}

}  // namespace fovea
