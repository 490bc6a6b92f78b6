// Translation with a model folder against CTranslate2 with the same 8-bit weights.
#pragma once

#include "bench/harness.h"

namespace bench {

// Checks that both translate alike, then times both in turns: one sentence at a time and in batches, greedy search and
// a beam of 5, one and two threads, with AVX2 and with all instruction sets. Then start-up and peak memory.
void compare_with_ctranslate2(const Options& options);

// Fovea's contender: FOLDER PRECISION THREADS one|batches IDS, as peers/ctranslate2.cpp.
int run_translator(char** arguments);

}  // namespace bench
