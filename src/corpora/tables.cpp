// Tables with a header (CSV, TSV), JSON lines and pairs of files.
#include <algorithm>
#include <charconv>

#include "base/error.h"
#include "base/json.h"
#include "corpora/readers.h"
#include "text/lines.h"
#include "text/utf8.h"

namespace fovea {

namespace {

constexpr size_t kMostColumns = 10'000;

std::string list_of(const std::vector<std::string>& names) {
  std::string list;
  for (const std::string& name : names) list += (list.empty() ? "" : ", ") + name;
  return brief(list, 300);
}

// The column of a side: the one that the user names, that of the language, or the one with a usual name.
size_t column_of(const std::vector<std::string>& names, const std::string& chosen, const std::string& language,
                 const std::vector<std::string>& usual, std::string_view flag, const std::string& place) {
  const auto find = [&](const auto& is) {
    return static_cast<size_t>(std::find_if(names.begin(), names.end(), is) - names.begin());
  };
  size_t found = names.size();
  if (!chosen.empty()) {
    found = find([&](const std::string& name) { return name == chosen; });
    size_t number = 0;
    const auto result = std::from_chars(chosen.data(), chosen.data() + chosen.size(), number);
    const bool is_number = result.ec == std::errc() && result.ptr == chosen.data() + chosen.size();
    if (found == names.size() && is_number && number >= 1) found = number - 1;
    check(found < names.size(), "{}: {} {}: expected one of the columns {}", place, flag, chosen, list_of(names));
    return found;
  }
  if (!language.empty()) found = find([&](const std::string& name) { return language_matches(language, name); });
  for (const std::string& name : usual) {
    if (found == names.size()) found = find([&](const std::string& have) { return have == name; });
  }
  check(found < names.size(), "{}: expected {} with one of the columns {}", place, flag, list_of(names));
  return found;
}

struct Columns {
  size_t source, target, count;
};

Columns choose_columns(const std::vector<std::string>& names, const ImportOptions& options, const std::string& place) {
  const Columns columns{
      column_of(names, options.source_column, options.source_language, {"source", "src"}, "--source-column", place),
      column_of(names, options.target_column, options.target_language, {"target", "tgt"}, "--target-column", place),
      names.size()};
  check(columns.source != columns.target, "{}: expected two columns, got {} for both sides", place,
        names[columns.source]);
  return columns;
}

// Names for the columns of a table without a header.
std::vector<std::string> numbered(size_t count) {
  std::vector<std::string> names;
  for (size_t i = 1; i <= count; ++i) names.push_back(i == 1 ? "source" : i == 2 ? "target" : std::to_string(i));
  return names;
}

// Takes the rows of a table, the header first.
class TableWriter {
 public:
  explicit TableWriter(PairWriter& writer) : writer_(writer) {}
  void row(const std::vector<std::string>& fields, const std::string& place) {
    if (columns_.count == 0) {
      const bool no_header = writer_.options.no_header;
      columns_ = choose_columns(no_header ? numbered(fields.size()) : fields, writer_.options, place);
      if (!no_header) return;
    }
    check(fields.size() == columns_.count, "{}: expected {} columns, as in the first row, got {}", place,
          columns_.count, fields.size());
    writer_.add(fields[columns_.source], fields[columns_.target], place);
  }

 private:
  PairWriter& writer_;
  Columns columns_{};
};

// RFC 4180: a field in double quotes may have delimiters, line breaks and, doubled, quotes.
class CsvReader {
 public:
  explicit CsvReader(ByteSource source) : source_(std::move(source)), block_(size_t{1} << 16) {}

  // False at the end.
  bool next(std::vector<std::string>& fields) {
    fields.clear();
    if (peek() < 0) return false;
    row_ = line_;
    while (true) {
      check(fields.size() < kMostColumns, "{}: expected at most {} columns, got more", place(), kMostColumns);
      fields.push_back(field());
      const int c = take();
      if (c < 0 || c == '\n') break;
    }
    return true;
  }
  std::string place() const { return fmt::format("{}:{}", source_.name, row_); }

 private:
  int peek() {
    if (at_ == end_) {
      at_ = 0;
      end_ = source_.read(block_.data(), block_.size());
      if (end_ == 0) return -1;
    }
    return static_cast<unsigned char>(block_[at_]);
  }
  int take() {
    const int c = peek();
    if (c < 0) return c;
    ++at_;
    if (c == '\n') ++line_;
    return c;
  }
  bool ends_field(int c) {
    if (c < 0 || c == '\n') return true;
    if (delimiter_ == 0 && (c == ',' || c == ';' || c == '\t')) delimiter_ = c;  // the first in the file
    return c == delimiter_;
  }
  void append(std::string& text, int c) const {
    if (text.size() >= kMaxLineBytes) fail("{}: expected fields of at most {} bytes, got more", place(), kMaxLineBytes);
    text += static_cast<char>(c);
  }
  // Leaves the delimiter.
  std::string field() {
    std::string text;
    if (peek() == '"') {
      quoted(text);
      if (peek() == '\r') take();
      check(ends_field(peek()), "{}: expected a delimiter after the closing quote (line {})", place(), line_);
    } else {
      while (!ends_field(peek())) append(text, take());
      if (text.ends_with('\r') && peek() != delimiter_) text.pop_back();
    }
    if (first_ && text.starts_with("\xEF\xBB\xBF")) text.erase(0, 3);  // of Excel
    first_ = false;
    const size_t bad = find_invalid_utf8(text);
    check(bad == std::string::npos && text.find('\0') == std::string::npos,
          "{}: expected text in UTF-8, got other bytes in a field", place());
    return text;
  }
  void quoted(std::string& text) {
    take();
    while (true) {
      const int c = take();
      check(c >= 0, "{}: expected a closing quote, got the end of the file", place());
      if (c == '"' && peek() != '"') return;
      if (c == '"') take();
      append(text, c);
    }
  }

  ByteSource source_;
  std::vector<char> block_;
  size_t at_ = 0, end_ = 0;
  int delimiter_ = 0;
  bool first_ = true;
  int64_t line_ = 1, row_ = 1;  // of the next byte; of the first byte of the row
};

// A member of an object by its path, as in translation.en; null if there is none.
const Json* member(const Json& object, const std::string& path) {
  if (const auto found = object.find(path); found != object.end()) return &*found;
  const size_t dot = path.find('.');
  if (dot == std::string::npos) return nullptr;
  const auto inner = object.find(path.substr(0, dot));
  return inner == object.end() || !inner->is_object() ? nullptr : member(*inner, path.substr(dot + 1));
}

// The names of the members that are texts, also of the object "translation", where many corpora have them.
std::vector<std::string> text_members(const Json& object) {
  std::vector<std::string> names;
  for (const auto& [name, value] : object.items()) {
    if (value.is_string()) names.push_back(name);
  }
  const auto inner = object.find("translation");
  if (inner == object.end() || !inner->is_object()) return names;
  for (const auto& [name, value] : inner->items()) {
    if (value.is_string()) names.push_back(name);
  }
  return names;
}

std::string json_text(const Json& object, const std::string& key, const std::string& place) {
  const Json* found = member(object, key);
  if (found == nullptr) found = member(object, "translation." + key);
  check(found != nullptr, "{}: expected the key {}", place, key);
  if (found->is_null()) return "";
  check(found->is_string(), "{}: {}: expected a text, got {}", place, key, brief_value(*found));
  return found->get<std::string>();
}

}  // namespace

void read_csv(ByteSource source, PairWriter& writer) {
  CsvReader reader(std::move(source));
  TableWriter table(writer);
  for (std::vector<std::string> fields; reader.next(fields);) {
    if (fields.size() == 1 && fields.front().empty()) continue;  // an empty line
    table.row(fields, reader.place());
  }
}

void read_table(ByteSource source, PairWriter& writer) {
  LineReader reader(source.name, std::move(source.read));
  TableWriter table(writer);
  std::vector<std::string> fields;
  for (std::string line; reader.next(line);) {
    if (line.empty()) continue;
    fields.assign(1, "");
    for (const char c : line) {
      if (c != '\t') {
        fields.back() += c;
        continue;
      }
      check(fields.size() < kMostColumns, "{}: expected at most {} columns, got more", reader.place(), kMostColumns);
      fields.emplace_back();
    }
    table.row(fields, reader.place());
  }
}

void read_json_lines(ByteSource source, PairWriter& writer) {
  LineReader reader(source.name, std::move(source.read));
  std::string source_key = writer.options.source_column, target_key = writer.options.target_column;
  for (std::string line; reader.next(line);) {
    if (line.find_first_not_of(" \t") == std::string::npos) continue;
    const Json object = parse_json(line, reader.place());
    check(object.is_object(), "{}: expected an object, got {}", reader.place(), brief_value(object));
    if (source_key.empty()) {  // the first line decides
      const std::vector<std::string> names = text_members(object);
      const Columns columns = choose_columns(names, writer.options, reader.place());
      source_key = names[columns.source];
      target_key = names[columns.target];
    }
    writer.add(json_text(object, source_key, reader.place()), json_text(object, target_key, reader.place()),
               reader.place());
  }
}

void read_moses(ByteSource source, ByteSource target, PairWriter& writer) {
  LineReader sources(source.name, std::move(source.read)), targets(target.name, std::move(target.read));
  std::string from, to;
  while (true) {
    const bool more = sources.next(from), more_targets = targets.next(to);
    check(more == more_targets, "{}: expected as many lines as in {}, got fewer", more ? target.name : source.name,
          more ? source.name : target.name);
    if (!more) return;
    writer.add(from, to, sources.place());
  }
}

}  // namespace fovea
