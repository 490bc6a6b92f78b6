// Conversations. The source line of a reply is built here and nowhere else: for training data, fovea chat and the
// server.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "text/dialogue.h"
#include "text/lines.h"
#include "text/vocabulary.h"

namespace fovea {

struct Turn {
  std::string speaker;  // a name; the names of a conversation are compared, nothing else
  std::string text;
};

// Reads a list of turns: texts, or objects with the members `speaker` and `text`. Speakers without a name alternate
// ("0", "1"). Throws an Error that starts with `place` and names the turn at fault.
std::vector<Turn> parse_turns(const Json& turns, std::string_view place);

// The line from which a model replies as `replier` to the last `context_turns` turns. Successive turns of a speaker are
// one turn. Marks inside a text are removed and white space becomes single spaces; turns without text are left out.
std::string source_line(std::span<const Turn> turns, std::string_view replier, const DialogueFormat& format);

// The pairs of a dialogue: each turn but the first is a reply to the turns before it. With `replies_of`, only the turns
// of that speaker are.
ParallelLines reply_pairs(std::span<const Turn> turns, const DialogueFormat& format,
                          const std::string& replies_of = {});

// A conversation with a model.
class Conversation {
 public:
  explicit Conversation(DialogueFormat format) : format_(std::move(format)) {}

  void hear(std::string text);   // the person says something
  void reply(std::string text);  // the model does
  // Replaces all turns. Whoever speaks last is the person; everybody else is the model.
  void set(std::span<const Turn> turns);
  void reset() { turns_.clear(); }
  void undo();  // forgets the last turn

  const std::vector<Turn>& turns() const { return turns_; }
  const DialogueFormat& format() const { return format_; }
  // The line from which the model replies. The oldest turns are left out if it has more than `max_tokens` tokens.
  std::string source(const Vocabulary& vocabulary, int64_t max_tokens) const;

 private:
  DialogueFormat format_;
  std::vector<Turn> turns_;  // of kPerson and kModel
};

}  // namespace fovea
