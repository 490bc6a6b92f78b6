// A line of text and its tokens: computed once, then shared by search, scores and attention records.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "text/copying.h"

namespace fovea {

struct TokenisedLine {
  std::string text;
  std::vector<int32_t> ids;   // of the whole line, without an end mark
  std::vector<Token> tokens;  // the same tokens with their offsets in the text, which records need; else empty
  // For a model that copies. Of a source: its tokens as target ids and the words of the extended ids. Of a target: the
  // entries of its unknown tokens.
  CopiedSource copied;
  std::vector<std::string> unknown;
};
using SharedLine = std::shared_ptr<const TokenisedLine>;

enum class Offsets { kNone, kTokens };  // whether the tokens' offsets are wanted

SharedLine tokenise(std::string line, const Vocabulary& vocabulary, Offsets offsets = Offsets::kNone);
std::vector<SharedLine> tokenise(std::span<const std::string> lines, const Vocabulary& vocabulary,
                                 Offsets offsets = Offsets::kNone);

}  // namespace fovea
