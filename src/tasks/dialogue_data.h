// Dialogues of a user's own: a file with a JSON object in each line, {"turns": [{"speaker": "a", "text": "..."}, ...]}
// or
// {"turns": ["...", "..."]}.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "text/dialogue.h"
#include "text/lines.h"

namespace fovea {

// Whether a file has JSON lines, by its ending: .jsonl or .jsonl.gz.
bool is_json_lines(std::string_view path);

struct DialoguePairs {
  ParallelLines lines;             // a pair for each reply
  std::vector<int64_t> dialogues;  // the number of the dialogue that each pair is from
};

// Throws an Error that names the line at fault, or says that there is no reply in the whole file.
DialoguePairs read_dialogues(const std::string& path, const DialogueFormat& format, const std::string& replies_of = {});

}  // namespace fovea
