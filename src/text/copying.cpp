#include "text/copying.h"

#include <algorithm>

#include "base/error.h"
#include "text/words.h"

namespace fovea {

namespace {

constexpr std::string_view kSpace = "\u2581";  // how SentencePiece writes a space in a piece

std::string_view unit_of(std::string_view kind) { return kind == "unigram" || kind == "bpe" ? "subword" : kind; }

// The id of a word, which is added if it is new.
int32_t extended_id(const std::string& word, int64_t first, std::vector<std::string>& words) {
  const auto found = std::find(words.begin(), words.end(), word);
  const auto index = found - words.begin();
  if (found == words.end()) words.push_back(word);
  return static_cast<int32_t>(first + index);
}

}  // namespace

std::vector<std::string> unknown_entries(const Vocabulary& vocabulary, std::string_view text) {
  std::vector<std::string> entries;
  const bool joined = vocabulary.kind() == "token";
  for (const Token& token : vocabulary.tokenise(text)) {
    if (token.id == kUnknown) entries.push_back(joined ? joined_entry(text, token.begin, token.end) : token.text);
  }
  return entries;
}

CopyTable::CopyTable(const Vocabulary& source, const Vocabulary& target)
    : target_size_(target.size()),
      target_ids_(static_cast<size_t>(source.size()), kUnknown),
      source_only_(static_cast<size_t>(source.size())) {
  check(unit_of(source.kind()) == unit_of(target.kind()),
        "model.copy: expected vocabularies with the same unit, because source tokens are copied to the target, got {} "
        "and {}",
        source.kind(), target.kind());
  for (int32_t id = kEnd + 1; id < target.size(); ++id) by_entry_.emplace(target.piece(id), id);
  for (int32_t id = 0; id < source.size(); ++id) {
    const auto at = static_cast<size_t>(id);
    const std::string entry = source.piece(id);
    const auto found = id > kEnd ? by_entry_.find(entry) : by_entry_.end();
    if (id <= kEnd) {
      target_ids_[at] = id;
    } else if (found != by_entry_.end()) {
      target_ids_[at] = found->second;
    } else {
      source_only_[at] = entry;
    }
  }
}

CopiedSource CopyTable::source(std::span<const int32_t> ids, std::span<const std::string> unknown) const {
  CopiedSource copied;
  size_t next = 0;
  for (const int32_t id : ids) {
    const int32_t known = target_ids_[static_cast<size_t>(id)];
    if (known != kUnknown) {
      copied.ids.push_back(known);
      continue;
    }
    check(id != kUnknown || next < unknown.size(), "copying: expected the text of {} unknown tokens, got {}",
          std::count(ids.begin(), ids.end(), kUnknown), unknown.size());
    const std::string& entry = id == kUnknown ? unknown[next++] : source_only_[static_cast<size_t>(id)];
    const auto found = by_entry_.find(entry);
    copied.ids.push_back(found != by_entry_.end() ? found->second : extended_id(entry, target_size_, copied.words));
  }
  return copied;
}

std::vector<int32_t> CopyTable::target(std::span<const int32_t> ids, std::span<const std::string> unknown,
                                       std::span<const std::string> words) const {
  std::vector<int32_t> extended(ids.begin(), ids.end());
  size_t next = 0;
  for (int32_t& id : extended) {
    if (id != kUnknown) continue;
    check(next < unknown.size(), "copying: expected the text of {} unknown tokens, got {}",
          std::count(ids.begin(), ids.end(), kUnknown), unknown.size());
    const auto found = std::find(words.begin(), words.end(), unknown[next++]);
    if (found != words.end()) id = static_cast<int32_t>(target_size_ + (found - words.begin()));
  }
  return extended;
}

std::string ExtendedVocabulary::piece(int32_t id) const {
  if (id < vocabulary_->size()) return vocabulary_->piece(id);
  check(id < size(), "vocabulary: expected an id from 0 to {}, got {}", size() - 1, id);
  return words_[static_cast<size_t>(id - vocabulary_->size())];
}

// The copied words take the places of unknown tokens in the decoded text.
std::string ExtendedVocabulary::decode_valid(std::span<const int32_t> ids, std::vector<Token>& tokens) const {
  std::vector<int32_t> known(ids.begin(), ids.end());
  for (int32_t& id : known) id = id < vocabulary_->size() ? id : kUnknown;
  std::vector<Token> places;
  const std::string decoded = vocabulary_->decode(known, &places);
  std::string text;
  size_t read = 0;  // bytes of the decoded text that are copied or replaced
  bool joins = false;
  for (size_t i = 0; i < ids.size(); ++i) {
    Token& token = tokens.emplace_back(places[i]);
    token.id = ids[i];
    std::string_view between =
        std::string_view(decoded).substr(read, places[i].begin - std::min(read, places[i].begin));
    if (joins && between == " ") between = "";
    joins = false;
    std::string word;
    if (ids[i] >= vocabulary_->size()) {
      std::string_view entry = words_[static_cast<size_t>(ids[i] - vocabulary_->size())];
      if (entry.starts_with(kSpace)) {
        entry.remove_prefix(kSpace.size());
        if (between.empty() && !text.empty()) between = " ";
      } else if (entry.starts_with(kJoiner) && entry.size() > kJoiner.size()) {
        entry.remove_prefix(kJoiner.size());
        if (between == " ") between = "";
      }
      if (entry.ends_with(kJoiner) && entry.size() > kJoiner.size()) {
        entry.remove_suffix(kJoiner.size());
        joins = true;
      }
      word = entry;
      token.text = word;
    } else {
      word = decoded.substr(places[i].begin, places[i].end - places[i].begin);
    }
    text += between;
    token.begin = text.size();
    text += word;
    token.end = text.size();
    read = std::max(read, places[i].end);
  }
  text += decoded.substr(std::min(read, decoded.size()));
  mark_word_starts(text, tokens);
  return text;
}

}  // namespace fovea
