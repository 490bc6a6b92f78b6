#include "tasks/dialogue_data.h"

#include "base/error.h"
#include "tasks/conversation.h"

namespace fovea {

bool is_json_lines(std::string_view path) { return path.ends_with(".jsonl") || path.ends_with(".jsonl.gz"); }

DialoguePairs read_dialogues(const std::string& path, const DialogueFormat& format, const std::string& replies_of) {
  DialoguePairs pairs;
  LineReader reader(path);
  int64_t dialogue = 0;
  for (std::string line; reader.next(line); ++dialogue) {
    const std::string place = reader.place();
    check(!line.empty(), R"({}: expected {{"turns": [...]}}, got an empty line)", place);
    const Json json = parse_json(line, place);
    check(json.is_object() && json.contains("turns"), R"({}: expected {{"turns": [...]}}, got {})", place,
          brief_value(json));
    ParallelLines replies = reply_pairs(parse_turns(json["turns"], place), format, replies_of);
    for (size_t i = 0; i < replies.source.size(); ++i) {
      pairs.lines.source.push_back(std::move(replies.source[i]));
      pairs.lines.target.push_back(std::move(replies.target[i]));
      pairs.dialogues.push_back(dialogue);
    }
  }
  check(!pairs.dialogues.empty(), "{}: expected dialogues with a reply{}, got none in {} line{}", path,
        replies_of.empty() ? "" : " of the speaker " + replies_of, dialogue, dialogue == 1 ? "" : "s");
  return pairs;
}

}  // namespace fovea
