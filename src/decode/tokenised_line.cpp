#include "decode/tokenised_line.h"

#include "text/corpus.h"

namespace fovea {

namespace {

SharedLine with_offsets(std::string line, const Vocabulary& vocabulary) {
  std::vector<Token> tokens = vocabulary.tokenise(line);
  std::vector<int32_t> ids;
  ids.reserve(tokens.size());
  for (const Token& token : tokens) ids.push_back(token.id);
  return std::make_shared<TokenisedLine>(TokenisedLine{std::move(line), std::move(ids), std::move(tokens), {}, {}});
}

}  // namespace

SharedLine tokenise(std::string line, const Vocabulary& vocabulary, Offsets offsets) {
  if (offsets == Offsets::kTokens) return with_offsets(std::move(line), vocabulary);
  std::vector<int32_t> ids = vocabulary.encode(line);
  return std::make_shared<TokenisedLine>(TokenisedLine{std::move(line), std::move(ids), {}, {}, {}});
}

std::vector<SharedLine> tokenise(std::span<const std::string> lines, const Vocabulary& vocabulary, Offsets offsets) {
  std::vector<SharedLine> tokenised;
  tokenised.reserve(lines.size());
  if (offsets == Offsets::kTokens) {
    for (const std::string& line : lines) tokenised.push_back(with_offsets(line, vocabulary));
    return tokenised;
  }
  std::vector<std::vector<int32_t>> ids = encode_lines(lines, vocabulary);  // on all threads
  for (size_t i = 0; i < lines.size(); ++i) {
    tokenised.push_back(std::make_shared<TokenisedLine>(TokenisedLine{lines[i], std::move(ids[i]), {}, {}, {}}));
  }
  return tokenised;
}

}  // namespace fovea
