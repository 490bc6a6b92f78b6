#include "text/labelled_text.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <optional>

#include "base/error.h"
#include "base/fields.h"
#include "base/thousands.h"

namespace fovea {

void LabelledTextOptions::describe(Fields& f) {
  f.add("label_column", label_column, "Column of the labels, in files whose first line names the columns.");
  f.add("text_column", text_column, "Column of the texts, in files whose first line names the columns.");
  f.add("label_separator", label_separator,
        "Separates the parts of a label: with \":\", the label positive:books has two parts; empty to use labels "
        "whole.");
  f.add("label_part", label_part, "Which part of a label is the class, counted from 1.")
      .at_least(1)
      .needs(!label_separator.empty(), f.key("label_separator"));
}

namespace {

using Row = std::vector<std::string>;

// A row of a table and the line on which it begins.
class TableReader {
 public:
  TableReader(const std::string& path, size_t max_bytes)
      : path_(path),
        csv_(path.ends_with(".csv") || path.ends_with(".csv.gz")),
        max_bytes_(max_bytes),
        reader_(path, max_bytes) {}

  bool csv() const { return csv_; }
  bool next(Row& row) {
    row.clear();
    std::string line;
    if (!reader_.next(line)) return false;
    line_ = reader_.line_number();
    if (csv_) {
      split_quoted(std::move(line), row);
    } else {
      split(line, row);
    }
    return true;
  }
  int64_t line() const { return line_; }
  std::string place() const { return fmt::format("{}:{}", path_, line_); }

 private:
  static void split(const std::string& line, Row& row) {
    for (size_t begin = 0; begin <= line.size();) {
      const size_t end = std::min(line.find('\t', begin), line.size());
      row.push_back(line.substr(begin, end - begin));
      begin = end + 1;
    }
  }
  // RFC 4180. A quoted field continues on the next line until its closing quote.
  void split_quoted(std::string line, Row& row) {
    size_t at = 0;
    while (true) {
      std::string& field = row.emplace_back();
      if (at < line.size() && line[at] == '"') {
        read_quoted(line, ++at, field);
        check(at == line.size() || line[at] == ',', "{}: expected a comma after a closing quote, got '{}'", place(),
              at < line.size() ? line.substr(at, 1) : "");
      } else {
        const size_t end = std::min(line.find(',', at), line.size());
        field = line.substr(at, end - at);
        at = end;
      }
      if (at >= line.size()) return;
      ++at;  // the comma
    }
  }
  // `at` is after the opening quote and is moved behind the closing one.
  void read_quoted(std::string& line, size_t& at, std::string& field) {
    while (true) {
      const size_t quote = std::min(line.find('"', at), line.size());
      field.append(line, at, quote - at);
      check(field.size() <= max_bytes_, "{}: expected a field of at most {} bytes, got more", place(), max_bytes_);
      at = quote;
      if (at == line.size()) {
        check(reader_.next(line), "{}: expected a closing quote, got the end of the file", place());
        field += ' ';
        at = 0;
      } else if (at + 1 < line.size() && line[at + 1] == '"') {
        field += '"';
        at += 2;
      } else {
        ++at;
        return;
      }
    }
  }

  std::string path_;
  bool csv_;
  size_t max_bytes_;
  LineReader reader_;
  int64_t line_ = 0;
};

struct Columns {
  size_t label = 0, text = 1, count = 2;
};

std::optional<Columns> named_columns(const Row& header, const LabelledTextOptions& options) {
  const auto find = [&](const std::string& name) {
    return static_cast<size_t>(std::find(header.begin(), header.end(), name) - header.begin());
  };
  const Columns columns{find(options.label_column), find(options.text_column), header.size()};
  if (columns.label == header.size() || columns.text == header.size()) return {};
  return columns;
}

// Whether the first row of a TSV file names columns, though not both of those that are wanted. A class may be called
// `text`.
bool is_other_header(const Row& row, const LabelledTextOptions& options) {
  const auto has = [&](size_t from, const std::string& name) {
    return std::find(row.begin() + static_cast<ptrdiff_t>(std::min(from, row.size())), row.end(), name) != row.end();
  };
  const LabelledTextOptions usual;
  return has(0, options.label_column) || has(1, options.text_column) || has(0, usual.label_column) ||
         has(1, usual.text_column);
}

std::string label_of(const std::string& whole, const LabelledTextOptions& options, const std::string& place) {
  std::string label = whole;
  if (!options.label_separator.empty()) {
    const std::string& separator = options.label_separator;
    size_t begin = 0;
    for (int64_t part = 1; part < options.label_part; ++part) {
      const size_t end = whole.find(separator, begin);
      check(end != std::string::npos, R"({}: expected a label with at least {} parts separated by "{}", got "{}")",
            place, options.label_part, separator, whole);
      begin = end + separator.size();
    }
    label = whole.substr(begin, std::min(whole.find(separator, begin), whole.size()) - begin);
  }
  check(!label.empty(), "{}: expected a label, got an empty one", place);
  return label;
}

}  // namespace

LabelledText read_labelled(const std::string& path, const LabelledTextOptions& options, size_t max_bytes) {
  TableReader reader(path, max_bytes);
  LabelledText text;
  Columns columns;
  Row row;
  for (bool first = true; reader.next(row); first = false) {
    if (first) {
      const std::optional<Columns> named = named_columns(row, options);
      if (named) {
        columns = *named;
        continue;
      }
      check(!reader.csv() && !is_other_header(row, options), "{}: expected a header with the columns {} and {}, got {}",
            reader.place(), options.label_column, options.text_column, fmt::join(row, ", "));
      check(row.size() == columns.count,
            "{}: expected a label and a text separated by a tab, or a header with the columns {} and {}, got {}",
            reader.place(), options.label_column, options.text_column, counted(std::ssize(row), "column"));
    }
    if (row.size() == 1 && row[0].empty() && reader.csv()) continue;  // an empty line
    check(row.size() == columns.count, "{}: expected {} columns, got {}", reader.place(), columns.count, row.size());
    text.labels.push_back(label_of(row[columns.label], options, reader.place()));
    text.texts.push_back(std::move(row[columns.text]));
    text.lines.push_back(reader.line());
  }
  check(!text.texts.empty(), "{}: expected labels and texts, got none", path);
  return text;
}

}  // namespace fovea
