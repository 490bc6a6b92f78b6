#include "attention/record.h"

#include <algorithm>
#include <array>

namespace fovea {

std::span<const AttentionKindEntry> attention_kinds() {
  using enum AttentionAxis;
  static constexpr std::array kEntries = {
      AttentionKindEntry{AttentionKind::kEncoderSelf, "encoder-self", kSource, kSource},
      AttentionKindEntry{AttentionKind::kDecoderSelf, "decoder-self", kTarget, kTargetInputs},
      AttentionKindEntry{AttentionKind::kCross, "cross", kTarget, kSource},
      AttentionKindEntry{AttentionKind::kCopy, "copy", kTarget, kSource},
      AttentionKindEntry{AttentionKind::kPooling, "pooling", kTarget, kSource},
      AttentionKindEntry{AttentionKind::kPassageToQuestion, "passage-to-question", kSource, kTarget},
      AttentionKindEntry{AttentionKind::kQuestionToPassage, "question-to-passage", kTarget, kSource},
  };
  return kEntries;
}

std::string_view name_of(AttentionKind kind) { return attention_kinds()[static_cast<size_t>(kind)].name; }

const AttentionKindEntry* find_attention_kind(std::string_view name) {
  const auto kinds = attention_kinds();
  const auto found =
      std::find_if(kinds.begin(), kinds.end(), [&](const AttentionKindEntry& k) { return k.name == name; });
  return found == kinds.end() ? nullptr : &*found;
}

}  // namespace fovea
