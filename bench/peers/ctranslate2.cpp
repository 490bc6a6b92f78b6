// CTranslate2 as a contender of bench/decode, against its public C++ API:
//   ctranslate2 MODEL PRECISION THREADS one|batches IDS
// MODEL was written by ctranslate2_model.py, whose tokens are ids; IDS has the ids of one sentence in each line.
// Sentences are translated one at a time by all threads, or in batches with one thread each.
#include <ctranslate2/translator.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <fstream>
#include <sstream>

#include "bench/worker.h"

namespace {

using Tokens = std::vector<std::string>;

std::vector<Tokens> sentences_in(const std::string& path) {
  std::ifstream file(path);
  std::vector<Tokens> sentences;
  for (std::string line; std::getline(file, line);) {
    std::istringstream ids(line);
    sentences.emplace_back(std::istream_iterator<std::string>(ids), std::istream_iterator<std::string>());
  }
  return sentences;
}

class Contender {
 public:
  Contender(const ctranslate2::models::ModelLoader& loader, size_t threads, bool batches,
            const std::vector<Tokens>& sentences)
      : translator_(loader, {.num_threads_per_replica = batches ? 1 : threads}),
        batches_(batches),
        sentences_(sentences) {}

  std::vector<ctranslate2::TranslationResult> translate(size_t beam) {
    ctranslate2::TranslationOptions options;
    options.beam_size = beam;
    options.length_penalty = 0;
    options.disable_unk = true;
    constexpr size_t kBatch = 32;  // sentences: of 16 to 256 the fastest with two threads, and no slower with one
    if (batches_) return translator_.translate_batch(sentences_, options, kBatch);
    std::vector<ctranslate2::TranslationResult> all;
    for (const Tokens& sentence : sentences_) {
      all.push_back(std::move(translator_.translate_batch({sentence}, options).front()));
    }
    return all;
  }
  // The token ids of all sentences, with a comma after each sentence.
  std::string output(size_t beam) {
    std::string text;
    for (const auto& result : translate(beam)) text += fmt::format("{},", fmt::join(result.output(), " "));
    return text;
  }

 private:
  ctranslate2::Translator translator_;
  bool batches_;
  const std::vector<Tokens>& sentences_;
};

}  // namespace

int main(int argc, char** argv) {
#if defined(__x86_64__)
  // oneDNN 2.6 uses AMX tiles where the CPU has them, but does not ask Linux for the permission.
  constexpr int kFeatureTileData = 18, kRequestPermission = 0x1023;
  syscall(SYS_arch_prctl, kRequestPermission, kFeatureTileData);
#endif
  if (argc != 6) bench::wrong("expected ctranslate2 MODEL PRECISION THREADS one|batches IDS");
  const double before = bench::peak_memory_mb();
  const std::string precision = argv[2];
  const bool batches = std::string(argv[4]) == "batches";
  const auto threads = static_cast<size_t>(std::stoi(argv[3]));
  const std::vector<Tokens> sentences = sentences_in(argv[5]), first(sentences.begin(), sentences.begin() + 1);
  ctranslate2::models::ModelLoader loader(argv[1]);
  loader.compute_type = ctranslate2::str_to_compute_type(precision == "f32" ? "float32" : precision);
  loader.num_replicas_per_device = batches ? threads : 1;
  Contender contender(loader, threads, batches, sentences);
  bench::serve(
      {.name = fmt::format("CT2 {}", precision),
       .calls = {{"greedy", [&] { contender.translate(1); }}, {"beam", [&] { contender.translate(5); }}},
       .outputs = {{"greedy", [&] { return contender.output(1); }}, {"beam", [&] { return contender.output(5); }}},
       .memory_before = before});
}
