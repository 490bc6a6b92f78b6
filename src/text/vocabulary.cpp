#include "text/vocabulary.h"

#include <algorithm>
#include <filesystem>

#include "base/error.h"
#include "base/files.h"
#include "text/list_vocabulary.h"
#include "text/sentencepiece_vocabulary.h"

namespace fovea {

std::vector<int32_t> Vocabulary::sample(std::string_view text, double, Random&) const { return encode(text); }

std::string Vocabulary::decode(std::span<const int32_t> ids, std::vector<Token>* tokens) const {
  for (const int32_t id : ids)
    check(id >= 0 && id < size(), "vocabulary: expected token ids from 0 to {}, got {}", size() - 1, id);
  std::vector<Token> places;
  std::string text = decode_valid(ids, places);
  if (tokens) *tokens = std::move(places);
  return text;
}

namespace {

void check_symbols(const std::vector<std::string>& symbols) {
  for (size_t i = 0; i < symbols.size(); ++i) {
    const std::string& symbol = symbols[i];
    check(!symbol.empty() && symbol.find_first_of(" \t\r\n,") == std::string::npos &&
              symbol.find("\u2581") == std::string::npos,
          "vocabulary: symbols: expected a text without spaces and commas, got \"{}\"", symbol);
    check(std::find(symbols.begin(), symbols.begin() + static_cast<ptrdiff_t>(i), symbol) ==
              symbols.begin() + static_cast<ptrdiff_t>(i),
          "vocabulary: symbols: expected each symbol once, got \"{}\" twice", symbol);
    check(symbol != "<pad>" && symbol != "<unk>" && symbol != "<s>" && symbol != "</s>",
          "vocabulary: symbols: {} is one of the four special tokens already", symbol);
  }
}

}  // namespace

TrainedVocabulary train_vocabulary(std::span<const std::string> lines, const VocabularyOptions& options) {
  check(options.size > kEnd + 1, "vocabulary: expected a size of at least {}, got {}", kEnd + 2, options.size);
  check_symbols(options.symbols);
  if (options.kind == "word" || options.kind == "token" || options.kind == "character")
    return {train_list(lines, options), ""};
  check(options.kind == "unigram" || options.kind == "bpe",
        "vocabulary: expected unigram, bpe, word, token or character as kind, got \"{}\"", options.kind);
  TrainedVocabulary trained{train_sentencepiece(lines, options), ""};
  if (const int64_t size = trained.vocabulary->size(); size < options.size) {
    trained.warning =
        fmt::format("the text is too small for {} {} tokens; trained {}", options.size, options.kind, size);
  }
  return trained;
}

namespace {

std::string path_of(const std::string& folder, const std::string& stem, std::string_view extension) {
  return (std::filesystem::path(folder) / fmt::format("{}.{}", stem, extension)).string();
}

}  // namespace

void save_vocabulary(const Vocabulary& vocabulary, const std::string& folder, const std::string& stem) {
  write_file_atomically(path_of(folder, stem, vocabulary.extension()), vocabulary.bytes());
  // An older vocabulary of another kind must not be loaded instead.
  const std::string_view other = vocabulary.extension() == kListExtension ? kSentencePieceExtension : kListExtension;
  std::filesystem::remove(path_of(folder, stem, other));
}

bool has_vocabulary(const std::string& folder, const std::string& stem) {
  return std::filesystem::exists(path_of(folder, stem, kSentencePieceExtension)) ||
         std::filesystem::exists(path_of(folder, stem, kListExtension));
}

std::unique_ptr<Vocabulary> load_vocabulary(const std::string& folder, const std::string& stem) {
  const std::string model = path_of(folder, stem, kSentencePieceExtension),
                    list = path_of(folder, stem, kListExtension);
  if (std::filesystem::exists(model)) return load_sentencepiece(model);
  check(std::filesystem::exists(list), "vocabulary: expected {} or {}, found neither", model, list);
  return load_list(list);
}

}  // namespace fovea
