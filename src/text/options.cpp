// What a recipe may say about vocabularies, corpora and batches.
#include "base/fields.h"
#include "text/batches.h"
#include "text/corpus.h"
#include "text/vocabulary.h"

namespace fovea {

void VocabularyOptions::describe(Fields& f) {
  f.add("kind", kind, "How text is cut.").choices({"unigram", "bpe", "word", "character"});
  f.add("size", size, "The most pieces there may be, with the four special ones.").at_least(5);
  f.add("min_count", min_count, "Words and characters seen less often are unknown.").at_least(1);
  f.add("coverage", coverage,
        "The share of the text that unigram and bpe must know the characters of, where it has more than an alphabet.")
      .at_least(0.5)
      .at_most(1);
  f.add("byte_fallback", byte_fallback, "Spell unknown characters in bytes (unigram, bpe).");
  f.add("normalisation", normalisation, "What is done to the text first (unigram, bpe).")
      .choices({"identity", "nmt_nfkc"});
}

void CorpusOptions::describe(Fields& f) {
  f.add("max_source", max_source, "Pairs with a longer source, in pieces, are left out; 0 for no limit.").at_least(0);
  f.add("max_target", max_target, "Pairs with a longer target, in pieces, are left out; 0 for no limit.").at_least(0);
  f.add("max_ratio", max_ratio, "Pairs with one side so many times as long as the other are left out; 0 for none.")
      .at_least(0);
  f.add("drop_duplicates", drop_duplicates, "Keep only the first of equal pairs.");
  f.add("sampling", sampling,
        "Cut text anew in every epoch: the exponent of unigram sampling or the dropout of bpe; 0 for never.")
      .at_least(0)
      .at_most(1);
}

void BatchOptions::describe(Fields& f) {
  f.add("tokens", tokens, "Padded tokens a batch may have, on its longer side; 0 for no limit.").at_least(0);
  f.add("sentences", sentences, "Sentences a batch may have; 0 for no limit.").at_least(0);
  f.add("multiple", multiple, "Lengths are padded up to a multiple of this, so that fewer shapes occur.").at_least(1);
  f.add("reverse_source", reverse_source, "Read the source backwards (Sutskever et al. 2014).");
}

}  // namespace fovea
