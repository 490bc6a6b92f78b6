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

enum class Unit : uint8_t { kWord, kCharacter, kToken };

constexpr std::string_view name_of(Unit unit) {
  return unit == Unit::kWord ? "word" : unit == Unit::kToken ? "token" : "character";
}
Unit unit_named(std::string_view kind) {
  return kind == "word" ? Unit::kWord : kind == "token" ? Unit::kToken : Unit::kCharacter;
}

std::string lower(std::string_view text) { return unicode::encode(unicode::lower(unicode::decode(text))); }

// The end of the longest symbol that starts at a byte; the byte itself if there is none.
size_t symbol_at(std::span<const std::string> symbols, std::string_view text, size_t begin) {
  size_t end = begin;
  for (const std::string& symbol : symbols) {
    if (text.substr(begin).starts_with(symbol)) end = std::max(end, begin + symbol.size());
  }
  return end;
}

// Whether the mark at `begin` is a full stop or comma between two digits.
bool is_in_number(std::string_view text, size_t begin, size_t end) {
  const auto digit = [&](size_t at) { return at < text.size() && text[at] >= '0' && text[at] <= '9'; };
  return begin > 0 && digit(begin - 1) && digit(end) && (text[begin] == '.' || text[begin] == ',');
}

// Calls visit(begin, end) for each word, punctuation mark and symbol.
template <class Visit> void for_each_token(std::span<const std::string> symbols, std::string_view text, Visit&& visit) {
  size_t word = 0, symbol_end = 0;
  const auto end_word = [&](size_t at) {
    if (word < at) visit(word, at);
  };
  for (const auto& [value, begin, end] : code_points(text)) {
    if (begin < symbol_end) continue;
    if (symbol_end = symbol_at(symbols, text, begin); symbol_end > begin) {
      end_word(begin);
      visit(begin, symbol_end);
      word = symbol_end;
    } else if (is_space(value)) {
      end_word(begin);
      word = end;
    } else if (is_punctuation(value) && !is_in_number(text, begin, end)) {
      end_word(begin);
      visit(begin, end);
      word = end;
    }
  }
  end_word(text.size());
}

// Calls visit(begin, end) for each unit; except among words, a symbol is one unit.
template <class Visit>
void for_each_unit(Unit unit, std::span<const std::string> symbols, std::string_view text, Visit&& visit) {
  if (unit == Unit::kToken) return for_each_token(symbols, text, visit);
  size_t word = 0, symbol_end = 0;
  for (const auto& [value, begin, end] : code_points(text)) {
    if (unit == Unit::kCharacter) {
      if (begin < symbol_end) continue;
      symbol_end = std::max(end, symbol_at(symbols, text, begin));
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
    if (is_symbol(entry)) symbols_.push_back(entry);
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
      tokens.push_back({.id = id_at(text, begin, end),
                        .begin = begin,
                        .end = end,
                        .text = std::string(text.substr(begin, end - begin))});
    });
    mark_word_starts(text, tokens);
    return tokens;
  }

  std::vector<int32_t> encode(std::string_view text) const override {
    std::vector<int32_t> ids;
    for_each_unit(unit_, symbols_, text, [&](size_t begin, size_t end) { ids.push_back(id_at(text, begin, end)); });
    return ids;
  }

  // The entries of units that are unknown, with their numbers.
  TextMap<int64_t> count_unknown(std::span<const std::string> lines) const {
    TextMap<int64_t> counts;
    for (const std::string& line : lines) {
      for_each_unit(unit_, symbols_, line, [&](size_t begin, size_t end) {
        if (id_at(line, begin, end) != kUnknown) return;
        const std::string entry =
            unit_ == Unit::kToken ? joined_entry(line, begin, end) : line.substr(begin, end - begin);
        ++counts[lowercase_ ? lower(entry) : entry];
      });
    }
    return counts;
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
    bool joins = true;  // the next token to the text before it
    for (const int32_t id : ids) {
      std::string unit = is_control_token(id) ? "" : id == kUnknown ? std::string(kUnknownText) : piece(id);
      const bool joins_before = unit_ == Unit::kToken && remove_joiner(unit, true);
      const bool spaced = unit_ != Unit::kCharacter && !is_control_token(id);
      if (spaced && !joins && !joins_before) text += ' ';
      if (!is_control_token(id)) joins = unit_ == Unit::kToken && remove_joiner(unit, false);
      tokens.push_back({.id = id, .begin = text.size(), .end = text.size() + unit.size(), .text = unit});
      text += unit;
    }
    mark_word_starts(text, tokens);
    return text;
  }

 private:
  // An entry of several characters in a list of characters is a symbol, and one that a list of tokens would split.
  bool is_symbol(const std::string& entry) const {
    if (unit_ == Unit::kWord || entry.find(kJoiner) != std::string::npos) return false;
    int64_t units = 0;
    for_each_unit(unit_, {}, entry, [&](size_t, size_t) { ++units; });
    return units > 1;
  }
  static bool remove_joiner(std::string& unit, bool at_begin) {
    if (unit.size() <= kJoiner.size() || !(at_begin ? unit.starts_with(kJoiner) : unit.ends_with(kJoiner)))
      return false;
    unit.erase(at_begin ? 0 : unit.size() - kJoiner.size(), kJoiner.size());
    return true;
  }
  int32_t id_at(std::string_view text, size_t begin, size_t end) const {
    return unit_ == Unit::kToken ? id_of(joined_entry(text, begin, end)) : id_of(text.substr(begin, end - begin));
  }
  int32_t id_of(std::string_view unit) const {
    const auto found = lowercase_ ? ids_.find(lower(unit)) : ids_.find(unit);
    return found == ids_.end() ? kUnknown : found->second;
  }

  Unit unit_;
  bool lowercase_;
  std::vector<std::string> entries_;  // entry i has id i + 4
  std::vector<std::string> symbols_;  // the entries that are longer than a unit
  TextMap<int32_t> ids_;
};

// The entries that occur at least `min_count` times, the most frequent first.
std::vector<std::string> most_frequent(const TextMap<int64_t>& counts, int64_t min_count) {
  std::vector<std::pair<std::string, int64_t>> sorted;
  for (const auto& [entry, count] : counts) {
    if (count >= min_count) sorted.emplace_back(entry, count);
  }
  std::sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) {
    return a.second != b.second ? a.second > b.second : a.first < b.first;
  });
  std::vector<std::string> entries;
  for (auto& [entry, count] : sorted) entries.push_back(std::move(entry));
  return entries;
}

}  // namespace

std::unique_ptr<Vocabulary> train_list(std::span<const std::string> lines, const VocabularyOptions& options) {
  const Unit unit = unit_named(options.kind);
  TextMap<int64_t> counts;
  for (const std::string& given : lines) {
    const std::string lowered = options.lowercase ? lower(given) : "";
    const std::string_view line = options.lowercase ? lowered : given;
    for_each_unit(unit, options.symbols, line, [&](size_t begin, size_t end) {
      const std::string joined = unit == Unit::kToken ? joined_entry(line, begin, end) : "";
      const std::string_view entry = unit == Unit::kToken ? std::string_view(joined) : line.substr(begin, end - begin);
      const auto found = counts.find(entry);
      if (found == counts.end()) {
        counts.emplace(entry, 1);
      } else {
        ++found->second;
      }
    });
  }
  const std::vector<std::string> sorted = most_frequent(counts, options.min_count);
  check(!sorted.empty(), "vocabulary: expected text with {}s that occur at least {} time{} (min_count), got none",
        name_of(unit), options.min_count, options.min_count == 1 ? "" : "s");
  auto vocabulary = std::make_unique<ListVocabulary>(unit, options.lowercase);
  for (const std::string& symbol : options.symbols) vocabulary->add(symbol);
  for (const std::string& entry : sorted) {
    if (vocabulary->size() == options.size) break;
    vocabulary->add(entry);
  }
  return vocabulary;
}

VocabularyExtension extend_list(const Vocabulary& list, std::span<const std::string> lines, int64_t most) {
  auto extended = std::make_shared<ListVocabulary>(dynamic_cast<const ListVocabulary&>(list));
  std::vector<std::string> entries = most_frequent(extended->count_unknown(lines), 2);
  if (std::ssize(entries) > most) entries.resize(static_cast<size_t>(most));
  for (const std::string& entry : entries) extended->add(entry);
  return {std::move(extended), std::vector<std::vector<int32_t>>(entries.size())};
}

std::unique_ptr<Vocabulary> list_of_words(std::vector<std::string> words) {
  auto vocabulary = std::make_unique<ListVocabulary>(Unit::kWord, false);
  for (std::string& word : words) {
    check(vocabulary->add(word), "vocabulary: expected each word once, got \"{}\" twice", word);
  }
  return vocabulary;
}

std::unique_ptr<Vocabulary> load_list(const std::string& path) {
  LineReader reader(path);
  std::string line;
  check(reader.next(line), "{}: expected a vocabulary, got an empty file", path);
  std::unique_ptr<ListVocabulary> vocabulary;
  int64_t entries = 0;
  for (const Unit unit : {Unit::kWord, Unit::kCharacter, Unit::kToken}) {
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
        R"({}: expected "fovea word vocabulary, N entries" or the same with character or token, got "{}")",
        reader.place(), line);
  while (reader.next(line)) {
    check(!line.empty(), "{}: expected an entry, got an empty line", reader.place());
    check(vocabulary->add(unescape(line, reader.place())), "{}: duplicate entry \"{}\"", reader.place(), line);
  }
  check(vocabulary->size() == entries + kEnd + 1, "{}: expected {} entries, got {}", path, entries,
        vocabulary->size() - kEnd - 1);
  return vocabulary;
}

}  // namespace fovea
