// How a conversation is written as a line of text: its turns, oldest first, joined by " <turn> ". Each turn begins with
// a mark of its speaker, which is relative to the reply: one mark for whoever replies and one for everybody else. The
// marks are symbols of the vocabulary, one token each.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace fovea {

class Fields;

inline constexpr std::string_view kTurnMark = "<turn>";

struct DialogueFormat {
  int64_t context_turns = 3;
  std::vector<std::string> speakers = {"<a>", "<b>"};  // the marks of the others and of whoever replies

  std::vector<std::string> symbols() const;  // all marks
  void describe(Fields& fields);
};

}  // namespace fovea
