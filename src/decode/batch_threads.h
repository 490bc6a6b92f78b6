// The batches of a corpus, computed by several threads at the same time: one batch a thread, on shared weights.
#pragma once

#include <functional>

#include "text/batches.h"

namespace fovea {

// Makes the next batch, in the current arena of the thread; returns false when none is left.
using NextBatch = std::function<bool(Batch&)>;

// Calls work(next) on each thread that takes part, with the caller's precision of products. The batches are the same
// for any number of threads. Of several hundred sentences, those of the longest come first, because a long batch at the
// end would be waited for.
// On a card, and where there are few batches for the number of threads, one thread takes them all.
void for_each_batch(const CorpusView& corpus, const BatchOptions& options, Device device, const CopyOptions& copies,
                    const std::function<void(const NextBatch&)>& work);

}  // namespace fovea
