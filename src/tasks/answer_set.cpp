#include "tasks/answer_set.h"

#include <unordered_map>

#include "base/error.h"
#include "base/thousands.h"
#include "text/lines.h"
#include "text/utf8.h"

namespace fovea {

namespace {

const Json& member(const Json& object, std::string_view name, std::string_view place) {
  check(object.is_object(), "{}: expected an object, got {}", place, brief_value(object));
  const auto found = object.find(name);
  check(found != object.end(), "{}: expected \"{}\", got none", place, name);
  return *found;
}

const std::string& text_member(const Json& object, std::string_view name, std::string_view place) {
  const Json& value = member(object, name, place);
  check(value.is_string(), "{}: {}: expected a string, got {}", place, name, brief_value(value));
  return value.get_ref<const std::string&>();
}

const Json& list_member(const Json& object, std::string_view name, std::string_view place) {
  const Json& value = member(object, name, place);
  check(value.is_array(), "{}: {}: expected a list, got {}", place, name, brief_value(value));
  return value;
}

std::string id_text(const Json& object) {
  const auto found = object.find("id");
  if (found == object.end() || found->is_null()) return "";
  return found->is_string() ? found->get<std::string>() : found->dump();
}

// The byte at which code point `index` begins; npos if the text is shorter.
size_t byte_of(std::string_view text, int64_t index) {
  size_t byte = 0;
  for (; index > 0; --index) {
    if (byte >= text.size()) return std::string_view::npos;
    byte = code_point_at(text, byte).end;
  }
  return byte;
}

class SetReader {
 public:
  void read(const std::string& file) {
    counts_ = {};
    if (is_squad(file)) {
      read_squad(file);
    } else {
      read_lines_of(file);
    }
    warn(file);
  }
  AnswerSet take() { return std::move(set_); }

 private:
  struct InFile {
    int64_t questions = 0, misplaced = 0, unanswered = 0;
    std::string first_misplaced, first_unanswered;
  };

  // SQuAD's file has "data": [ before the first "context"; a line of JSON lines has "context" itself.
  static bool is_squad(const std::string& file) {
    InputFile input(file);
    std::string start(size_t{1} << 16, '\0');
    size_t size = 0;
    while (size < start.size()) {
      const size_t more = input.read(start.data() + size, start.size() - size);
      if (more == 0) break;
      size += more;
    }
    start.resize(size);
    const size_t data = start.find("\"data\"");
    if (data > start.find("\"context\"") || data == std::string::npos) return false;
    const size_t colon = start.find_first_not_of(" \t\r\n", data + 6);
    if (colon == std::string::npos || start[colon] != ':') return false;
    const size_t value = start.find_first_not_of(" \t\r\n", colon + 1);
    return value != std::string::npos && start[value] == '[';
  }

  void read_squad(const std::string& file) {
    const Json all = parse_json(read_file(file), file);
    const Json& articles = list_member(all, "data", file);
    for (size_t a = 0; a < articles.size(); ++a) {
      const std::string article = fmt::format("{}: article {}", file, a + 1);
      const Json& paragraphs = list_member(articles[a], "paragraphs", article);
      for (size_t p = 0; p < paragraphs.size(); ++p) {
        const std::string place = fmt::format("{}, paragraph {}", article, p + 1);
        const int64_t passage = passage_of(text_member(paragraphs[p], "context", place));
        for (const Json& question : list_member(paragraphs[p], "qas", place)) {
          add(question, passage, "answer_start", place);
        }
      }
    }
  }

  void read_lines_of(const std::string& file) {
    LineReader reader(file, kMaxJsonLine);
    for (std::string line; reader.next(line);) {
      if (line.find_first_not_of(" \t") == std::string::npos) continue;
      const std::string place = reader.place();
      const Json object = parse_json(line, place);
      add(object, passage_of(text_member(object, "context", place)), "start", place);
    }
  }

  int64_t passage_of(const std::string& text) {
    const auto [found, fresh] = passages_.try_emplace(text, std::ssize(set_.passages));
    if (fresh) set_.passages.push_back(text);
    return found->second;
  }

  void add(const Json& object, int64_t passage, std::string_view start, const std::string& place) {
    AnswerQuestion question;
    question.question = text_member(object, "question", place);
    question.id = id_text(object);
    question.passage = passage;
    const std::string where = question.id.empty() ? place : fmt::format("{}: question {}", place, brief(question.id));
    ++counts_.questions;
    for (const Json& answer : list_member(object, "answers", where)) {
      const Json& at = member(answer, start, where);
      check(at.is_number_integer(), "{}: {}: expected an integer, got {}", where, start, brief_value(at));
      AnswerReference reference{text_member(answer, "text", where), 0};
      const std::string& text = set_.passages[static_cast<size_t>(passage)];
      const auto index = at.get<int64_t>();
      const size_t byte = index < 0 ? std::string::npos : byte_of(text, index);
      const bool there = byte != std::string::npos && !reference.text.empty() &&
                         text.compare(byte, reference.text.size(), reference.text) == 0;
      if (!there) {
        if (counts_.misplaced++ == 0) counts_.first_misplaced = where;
        continue;
      }
      reference.begin_byte = static_cast<int64_t>(byte);
      question.references.push_back(std::move(reference));
    }
    if (question.references.empty()) {
      if (counts_.unanswered++ == 0) counts_.first_unanswered = where;
      return;
    }
    set_.questions.push_back(std::move(question));
  }

  void warn(const std::string& file) {
    check(counts_.questions > 0, "{}: expected questions, got none", file);
    check(counts_.unanswered < counts_.questions || counts_.misplaced == 0,
          "{}: expected answers at their positions in the passages, got none in {}", counts_.first_misplaced,
          counted(counts_.questions, "question"));
    if (counts_.misplaced > 0) {
      set_.messages.push_back(fmt::format("warning: {}: left out: {} not at the given position",
                                          counts_.first_misplaced, counted(counts_.misplaced, "answer")));
    }
    if (counts_.unanswered > 0) {
      set_.messages.push_back(fmt::format("warning: {}: left out: {} without an answer in the passage",
                                          counts_.first_unanswered, counted(counts_.unanswered, "question")));
    }
  }

  AnswerSet set_;
  std::unordered_map<std::string, int64_t> passages_;
  InFile counts_;
};

}  // namespace

AnswerSet read_answer_set(std::span<const std::string> files) {
  SetReader reader;
  for (const std::string& file : files) reader.read(file);
  return reader.take();
}

QuestionLine parse_question_line(std::string_view line, std::string_view place) {
  const Json object = parse_json(line, place);
  check(object.is_object(), "{}: expected an object with \"context\" and \"question\", got {}", place,
        brief_value(object));
  QuestionLine result;
  const bool passage = object.contains("passage") && !object.contains("context");
  result.passage = text_member(object, passage ? "passage" : "context", place);
  result.question = text_member(object, "question", place);
  if (object.contains("id")) result.id = object["id"];
  return result;
}

}  // namespace fovea
