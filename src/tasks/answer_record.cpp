#include "tasks/answer_record.h"

#include <cmath>

#include "decode/record.h"
#include "text/words.h"

namespace fovea {

namespace {

std::vector<RecordToken> tokens_of(const std::string& text, std::span<const TextToken> tokens,
                                   const Vocabulary& vocabulary) {
  std::vector<Token> marked;
  for (const TextToken& token : tokens) {
    const auto begin = static_cast<size_t>(token.begin), end = static_cast<size_t>(token.end);
    marked.push_back({.id = token.id, .begin = begin, .end = end, .text = text.substr(begin, end - begin)});
  }
  mark_word_starts(text, marked);
  return record_tokens(marked, text, vocabulary);
}

// Weights [B,H,T,S] of a batch of one.
RecordedAttention recorded(AttentionKind kind, std::string mechanism, const Tensor& weights) {
  RecordedAttention result;
  result.kind = name_of(kind);
  result.mechanism = std::move(mechanism);
  result.scope = "global";
  result.selection = "soft";
  result.heads = weights.dim(1);
  result.rows = weights.dim(2);
  result.columns = weights.dim(3);
  result.weights = to_host<float>(cast(Var(weights), DType::kF32).value());
  return result;
}

// Rows of the question and columns of the passage of the encoder's self-attention, each row divided by its sum.
RecordedAttention question_block(const std::vector<AttentionTrace>& traces, const AttentionConfig& config,
                                 int64_t question, int64_t first, int64_t passage) {
  RecordedAttention result;
  result.kind = name_of(AttentionKind::kQuestionToPassage);
  result.mechanism = config.mechanism() +
                     "; the part of the encoder's self-attention from question to passage, with "
                     "rows divided by their sums";
  result.scope = config.scope;
  result.selection = "soft";
  result.layers = std::ssize(traces);
  result.rows = question;
  result.columns = passage;
  for (const AttentionTrace& trace : traces) {
    const RecordedAttention all = recorded(trace.kind, "", trace.weights.value());
    result.heads = all.heads;
    for (int64_t head = 0; head < all.heads; ++head) {
      for (int64_t t = 0; t < question; ++t) {
        const float* row = all.row(0, head, t) + first;
        float sum = 0;
        for (int64_t s = 0; s < passage; ++s) sum += row[s];
        for (int64_t s = 0; s < passage; ++s) result.weights.push_back(sum > 0 ? row[s] / sum : 0);
      }
    }
  }
  return result;
}

}  // namespace

AttentionRecord answer_record(const LoadedReader& reader, const AnswerWindow& window, const std::string& question,
                              const SpanLogits& logits, int64_t first_row, const RecordAnswer& answer) {
  AttentionRecord record;
  record.task = reader.config.task;
  record.architecture = reader.config.answer.interaction;
  record.search = "best span";
  record.source_text = window.passage->text;
  record.target_text = question;
  const auto read =
      std::span(window.passage->tokens).subspan(static_cast<size_t>(window.begin), static_cast<size_t>(window.size()));
  record.source = tokens_of(window.passage->text, read, *reader.vocabulary);
  record.target = tokens_of(question, window.question, *reader.vocabulary);
  record.truncated = window.size() < window.passage->size();
  record.log_probability = record.score = std::log(answer.probability);
  record.answer = answer;
  if (logits.question_to_passage) {
    RecordedAttention to_passage = recorded(AttentionKind::kQuestionToPassage,
                                            "attention flow: softmax over the passage of the best similarity to a "
                                            "token of the question",
                                            logits.question_to_passage);
    to_passage.row_labels = {"question"};
    record.attentions.push_back(std::move(to_passage));
    record.attentions.push_back(recorded(AttentionKind::kPassageToQuestion, "attention flow: softmax over the question",
                                         logits.passage_to_question));
  } else if (!logits.attentions.empty()) {
    record.attentions.push_back(question_block(logits.attentions, reader.config.model.self_attention,
                                               std::ssize(window.question), first_row, window.size()));
  }
  return record;
}

}  // namespace fovea
