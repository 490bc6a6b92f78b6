#include "text/list_vocabulary.h"

#include <algorithm>
#include <array>
#include <unordered_map>
#include <utility>

#include "base/error.h"
#include "text/lines.h"
#include "text/unicode.h"
#include "text/utf8.h"
#include "text/words.h"

namespace fovea {

namespace {

constexpr std::array<std::string_view, 4> kSpecial = {"<pad>", "<unk>", "<s>", "</s>"};  // as SentencePiece has them
constexpr std::string_view kHeader = "fovea {}{} vocabulary, {} entries", kLowercase = "lower-case ";

enum class Unit : uint8_t { kWord, kCharacter };

constexpr std::string_view name_of(Unit unit) { return unit == Unit::kWord ? "word" : "character"; }

std::string lower(std::string_view text) { return unicode::encode(unicode::lower(unicode::decode(text))); }

// Calls visit(begin, end) for each word or character; among characters, a symbol is one unit.
template <class Visit>
void for_each_unit(Unit unit, std::span<const std::string> symbols, std::string_view text, Visit&& visit) {
  size_t word = 0, symbol_end = 0;
  for (const auto& [value, begin, end] : code_points(text)) {
    if (unit == Unit::kCharacter) {
      if (begin < symbol_end) continue;
      symbol_end = end;
      for (const std::string& symbol : symbols) {
        if (text.substr(begin).starts_with(symbol)) symbol_end = std::max(symbol_end, begin + symbol.size());
      }
      visit(begin, symbol_end);
    } else if (is_space(value)) {
      if (word < begin) visit(word, begin);
      word = end;
    }
  }
  if (unit == Unit::kWord && word < text.size()) visit(word, text.size());
}

struct Hash {
  using is_transparent = void;  // NOLINT(readability-identifier-naming): the library's word
  size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
};
template <class T> using TextMap = std::unordered_map<std::string, T, Hash, std::equal_to<>>;

std::string escape(std::string_view entry) {
  std::string line;
  for (const char c : entry) {
    switch (c) {
      case '\\': line += "\\\\"; break;
      case '\n': line += "\\n"; break;
      case '\r': line += "\\r"; break;
      case '\t': line += "\\t"; break;
      default: line += c;
    }
  }
  return line;
}

std::string unescape(std::string_view line, const std::string& place) {
  std::string entry;
  for (size_t i = 0; i < line.size(); ++i) {
    if (line[i] != '\\') {
      entry += line[i];
      continue;
    }
    constexpr std::string_view kNames = "\\nrt", kMeanings = "\\\n\r\t";
    const size_t which = ++i < line.size() ? kNames.find(line[i]) : std::string_view::npos;
    check(which != std::string_view::npos, R"({}: expected \\, \n, \r or \t after a backslash, got "{}")", place, line);
    entry += kMeanings[which];
  }
  return entry;
}

class ListVocabulary final : public Vocabulary {
 public:
  ListVocabulary(Unit unit, bool lowercase) : unit_(unit), lowercase_(lowercase) {}

  // Returns false for a duplicate.
  bool add(std::string entry) {
    const auto id = static_cast<int32_t>(size());
    if (!ids_.emplace(entry, id).second) return false;
    // An entry of several characters in a list of characters is a symbol.
    if (unit_ == Unit::kCharacter && code_point_at(entry, 0).end < entry.size()) symbols_.push_back(entry);
    entries_.push_back(std::move(entry));
    return true;
  }

  std::string_view kind() const override { return name_of(unit_); }
  int64_t size() const override { return static_cast<int64_t>(kSpecial.size() + entries_.size()); }
  std::string piece(int32_t id) const override {
    check(id >= 0 && id < size(), "vocabulary: expected an id from 0 to {}, got {}", size() - 1, id);
    const auto index = static_cast<size_t>(id);
    return index < kSpecial.size() ? std::string(kSpecial[index]) : entries_[index - kSpecial.size()];
  }

  std::vector<Token> tokenise(std::string_view text) const override {
    std::vector<Token> tokens;
    for_each_unit(unit_, symbols_, text, [&](size_t begin, size_t end) {
      const std::string_view unit = text.substr(begin, end - begin);
      tokens.push_back({.id = id_of(unit), .begin = begin, .end = end, .text = std::string(unit)});
    });
    mark_word_starts(text, tokens);
    return tokens;
  }

  std::vector<int32_t> encode(std::string_view text) const override {
    std::vector<int32_t> ids;
    for_each_unit(unit_, symbols_, text,
                  [&](size_t begin, size_t end) { ids.push_back(id_of(text.substr(begin, end - begin))); });
    return ids;
  }

  std::string_view extension() const override { return kListExtension; }
  std::string bytes() const override {
    std::string bytes = fmt::format(kHeader, lowercase_ ? kLowercase : "", kind(), entries_.size()) + "\n";
    for (const std::string& entry : entries_) bytes += escape(entry) + "\n";
    return bytes;
  }

 protected:
  std::string decode_valid(std::span<const int32_t> ids, std::vector<Token>& tokens) const override {
    std::string text;
    for (const int32_t id : ids) {
      const std::string unit = is_control_token(id) ? "" : id == kUnknown ? std::string(kUnknownText) : piece(id);
      if (unit_ == Unit::kWord && !is_control_token(id) && !text.empty()) text += ' ';
      tokens.push_back({.id = id, .begin = text.size(), .end = text.size() + unit.size(), .text = unit});
      text += unit;
    }
    mark_word_starts(text, tokens);
    return text;
  }

 private:
  int32_t id_of(std::string_view unit) const {
    const auto found = lowercase_ ? ids_.find(lower(unit)) : ids_.find(unit);
    return found == ids_.end() ? kUnknown : found->second;
  }

  Unit unit_;
  bool lowercase_;
  std::vector<std::string> entries_;  // entry i has id i + 4
  std::vector<std::string> symbols_;  // the entries of several characters, if the unit is the character
  TextMap<int32_t> ids_;
};

}  // namespace

std::unique_ptr<Vocabulary> train_list(std::span<const std::string> lines, const VocabularyOptions& options) {
  const Unit unit = options.kind == "word" ? Unit::kWord : Unit::kCharacter;
  TextMap<int64_t> counts;
  for (const std::string& given : lines) {
    const std::string lowered = options.lowercase ? lower(given) : "";
    const std::string_view line = options.lowercase ? lowered : given;
    for_each_unit(unit, options.symbols, line, [&](size_t begin, size_t end) {
      const std::string_view entry = line.substr(begin, end - begin);
      const auto found = counts.find(entry);
      if (found == counts.end()) {
        counts.emplace(entry, 1);
      } else {
        ++found->second;
      }
    });
  }
  std::vector<std::pair<std::string, int64_t>> sorted;
  for (auto& [entry, count] : counts)
    if (count >= options.min_count) sorted.emplace_back(entry, count);
  check(!sorted.empty(), "vocabulary: expected text with {}s that occur at least {} time{} (min_count), got none",
        name_of(unit), options.min_count, options.min_count == 1 ? "" : "s");
  std::sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) {
    return a.second != b.second ? a.second > b.second : a.first < b.first;
  });
  auto vocabulary = std::make_unique<ListVocabulary>(unit, options.lowercase);
  for (const std::string& symbol : options.symbols) vocabulary->add(symbol);
  for (auto& [entry, count] : sorted) {
    if (vocabulary->size() == options.size) break;
    vocabulary->add(std::move(entry));
  }
  return vocabulary;
}

std::unique_ptr<Vocabulary> load_list(const std::string& path) {
  LineReader reader(path);
  std::string line;
  check(reader.next(line), "{}: expected a vocabulary, got an empty file", path);
  std::unique_ptr<ListVocabulary> vocabulary;
  int64_t entries = 0;
  for (const Unit unit : {Unit::kWord, Unit::kCharacter}) {
    for (const bool lowercase : {false, true}) {
      const std::string_view marked = lowercase ? kLowercase : "";
      const std::string begin = fmt::format("fovea {}{} vocabulary, ", marked, name_of(unit));
      if (!line.starts_with(begin)) continue;
      entries = std::atoll(line.c_str() + begin.size());
      if (line != fmt::format(kHeader, marked, name_of(unit), entries)) continue;
      vocabulary = std::make_unique<ListVocabulary>(unit, lowercase);
    }
  }
  check(vocabulary != nullptr,
        R"({}: expected "fovea word vocabulary, N entries" or the same with character, got "{}")", reader.place(),
        line);
  while (reader.next(line)) {
    check(!line.empty(), "{}: expected an entry, got an empty line", reader.place());
    check(vocabulary->add(unescape(line, reader.place())), "{}: duplicate entry \"{}\"", reader.place(), line);
  }
  check(vocabulary->size() == entries + kEnd + 1, "{}: expected {} entries, got {}", path, entries,
        vocabulary->size() - kEnd - 1);
  return vocabulary;
}

}  // namespace fovea
