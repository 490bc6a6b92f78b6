// The settings of vocabularies, corpora and batches in recipes.
#include "base/fields.h"
#include "text/batches.h"
#include "text/corpus.h"
#include "text/vocabulary.h"

namespace fovea {

void VocabularyOptions::describe(Fields& f) {
  const bool subwords = kind == "unigram" || kind == "bpe";
  const std::string need_subwords = f.key("kind") + " = unigram or bpe";
  f.add("kind", kind, "Vocabulary type: subwords, words between spaces, words and punctuation marks, or characters.")
      .choices({"unigram", "bpe", "word", "token", "character"})
      .also_called({"type", "level", "model_type"});
  f.add("size", size, "Maximum vocabulary size, including the four special tokens.")
      .at_least(5)
      .also_called({"vocab_size", "max_size", "voc_limit"});
  f.add("min_count", min_count, "word, token, character: entries seen fewer times than this are unknown.")
      .at_least(1)
      .also_called({"min_freq", "voc_min_freq", "min_frequency"})
      .needs(!subwords, f.key("kind") + " = word, token or character");
  f.add("coverage", coverage,
        "unigram, bpe: character coverage, the fraction of the text whose characters must be known. An alphabet of up "
        "to 256 characters is always known in full.")
      .at_least(0.5)
      .at_most(1)
      .also_called({"character_coverage"})
      .needs(subwords, need_subwords);
  f.add("byte_fallback", byte_fallback, "unigram, bpe: encode unknown characters as bytes.")
      .needs(subwords, need_subwords);
  f.add("normalisation", normalisation,
        "unigram, bpe: Unicode normalisation applied before tokenisation; nmt_nfkc_cf also folds case.")
      .choices({"identity", "nmt_nfkc", "nmt_nfkc_cf"})
      .also_called({"normalization", "normalize", "normalization_rule_name"})
      .needs(subwords, need_subwords);
  f.add("lowercase", lowercase, "word, character: ignore case, by lower-casing text before tokenisation.")
      .also_called({"lower", "lower_case", "uncased", "do_lower_case"})
      .needs(!subwords, f.key("kind") + " = word or character");
  f.add("symbols", symbols,
        "Texts that are always one token, for instance <turn>. They may not contain spaces or commas.")
      .also_called({"user_defined_symbols", "special_tokens", "extra_symbols"});
}

void CorpusOptions::describe(Fields& f) {
  f.add("max_source", max_source, "Maximum source length in tokens; longer pairs are skipped. 0 for no limit.")
      .at_least(0)
      .also_called({"max_length", "max_len", "max_sent_length", "max_src_len"});
  f.add("max_target", max_target, "Maximum target length in tokens; longer pairs are skipped. 0 for no limit.")
      .at_least(0);
  f.add("truncate", truncate,
        "Truncate sources that are longer than max_source instead of skipping their pairs; the trained model then "
        "truncates, too.")
      .also_called({"truncate_source", "src_truncate", "truncation"})
      .needs(max_source > 0, f.key("max_source") + " above 0");
  f.add("max_ratio", max_ratio,
        "Maximum ratio between the lengths of the two sides; other pairs are skipped. 0 for no limit.")
      .at_least(0);
  f.add("drop_duplicates", drop_duplicates, "Keep only the first of identical pairs.")
      .also_called({"deduplicate", "dedup"});
  f.add("sampling", sampling,
        "Subword regularisation, sampled anew in every epoch: alpha of unigram sampling, or the rate of BPE dropout; 0 "
        "to disable.")
      .at_least(0)
      .at_most(1)
      .also_called({"bpe_dropout", "alpha", "subword_regularization", "subword_regularisation"});
}

void BatchOptions::describe(Fields& f) {
  f.add("tokens", tokens, "Maximum batch size in tokens, padding included, counted on the longer side; 0 for no limit.")
      .at_least(0)
      .also_called({"batch_tokens", "max_tokens"});
  f.add("sentences", sentences, "Maximum batch size in sentences; 0 for no limit.")
      .at_least(0)
      .also_called({"batch_size", "size"});
  f.add("multiple", multiple, "Lengths are padded to a multiple of this, which makes for fewer tensor shapes.")
      .at_least(1);
  f.add("reverse_source", reverse_source, "Read the source backwards (Sutskever et al. 2014).");
}

}  // namespace fovea
