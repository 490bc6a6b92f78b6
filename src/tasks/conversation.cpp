#include "tasks/conversation.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "text/utf8.h"

namespace fovea {

namespace {

constexpr std::string_view kPerson = "person", kModel = "model";

// The text without marks, with single spaces.
std::string cleaned(std::string text, const DialogueFormat& format) {
  for (bool found = true; found;) {  // removing a mark may leave another one: "<tu<turn>rn>"
    found = false;
    for (const std::string& mark : format.symbols()) {
      for (size_t at; (at = text.find(mark)) != std::string::npos; found = true) text.replace(at, mark.size(), " ");
    }
  }
  std::string clean;
  bool space = false;
  for (const auto& [value, begin, end] : code_points(text)) {
    if (is_space(value) || value < 0x20) {
      space = !clean.empty();
      continue;
    }
    if (std::exchange(space, false)) clean += ' ';
    clean.append(text, begin, end - begin);
  }
  return clean;
}

// The turns with clean texts; successive turns of a speaker are joined.
std::vector<Turn> joined(std::span<const Turn> turns, const DialogueFormat& format) {
  std::vector<Turn> joined;
  for (const Turn& turn : turns) {
    std::string text = cleaned(turn.text, format);
    if (text.empty()) continue;
    if (!joined.empty() && joined.back().speaker == turn.speaker) {
      joined.back().text += " " + text;
    } else {
      joined.push_back({turn.speaker, std::move(text)});
    }
  }
  return joined;
}

// The line of turns that are clean already.
std::string line_of(std::span<const Turn> turns, std::string_view replier, const DialogueFormat& format) {
  const size_t first = turns.size() - std::min(turns.size(), static_cast<size_t>(format.context_turns));
  std::string line;
  for (const Turn& turn : turns.subspan(first)) {
    if (!line.empty()) line += fmt::format(" {} ", kTurnMark);
    line += format.speakers[turn.speaker == replier ? 1 : 0] + " " + turn.text;
  }
  return line;
}

std::string text_member(const Json& turn, const char* name, const std::string& place) {
  check(turn.contains(name), "{}: expected the member \"{}\"", place, name);
  check(turn[name].is_string(), "{}: {}: expected a text, got {}", place, name, brief_value(turn[name]));
  return turn[name];
}

}  // namespace

std::vector<Turn> parse_turns(const Json& turns, std::string_view place) {
  check(turns.is_array(), "{}: turns: expected a list, got {}", place, brief_value(turns));
  std::vector<Turn> parsed;
  size_t named = 0;
  for (size_t i = 0; i < turns.size(); ++i) {
    const std::string at = fmt::format("{}: turn {}", place, i + 1);
    if (turns[i].is_string()) {
      parsed.push_back({i % 2 == 0 ? "0" : "1", turns[i]});
      continue;
    }
    check(turns[i].is_object(), "{}: expected a text or an object, got {}", at, brief_value(turns[i]));
    parsed.push_back({text_member(turns[i], "speaker", at), text_member(turns[i], "text", at)});
    ++named;
  }
  check(named == 0 || named == parsed.size(), "{}: turns: expected speakers for all turns or for none, got {} of {}",
        place, named, parsed.size());
  return parsed;
}

std::string source_line(std::span<const Turn> turns, std::string_view replier, const DialogueFormat& format) {
  return line_of(joined(turns, format), replier, format);
}

ParallelLines reply_pairs(std::span<const Turn> turns, const DialogueFormat& format, const std::string& replies_of) {
  const std::vector<Turn> clean = joined(turns, format);
  ParallelLines pairs;
  for (size_t i = 1; i < clean.size(); ++i) {
    if (!replies_of.empty() && clean[i].speaker != replies_of) continue;
    pairs.source.push_back(line_of(std::span(clean).first(i), clean[i].speaker, format));
    pairs.target.push_back(clean[i].text);
  }
  return pairs;
}

void Conversation::hear(std::string text) { turns_.push_back({std::string(kPerson), std::move(text)}); }
void Conversation::reply(std::string text) { turns_.push_back({std::string(kModel), std::move(text)}); }

void Conversation::undo() {
  if (!turns_.empty()) turns_.pop_back();
}

void Conversation::set(std::span<const Turn> turns) {
  turns_.clear();
  for (const Turn& turn : turns) {
    turns_.push_back({std::string(turn.speaker == turns.back().speaker ? kPerson : kModel), turn.text});
  }
}

std::string Conversation::source(const Vocabulary& vocabulary, int64_t max_tokens) const {
  const std::vector<Turn> clean = joined(turns_, format_);
  const size_t most = std::min(clean.size(), static_cast<size_t>(format_.context_turns));
  for (size_t count = most; count > 1; --count) {
    std::string line = line_of(std::span(clean).last(count), kModel, format_);
    if (std::ssize(vocabulary.encode(line)) <= max_tokens) return line;
  }
  return line_of(std::span(clean).last(std::min<size_t>(most, 1)), kModel, format_);
}

}  // namespace fovea
