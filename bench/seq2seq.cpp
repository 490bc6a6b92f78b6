#include "bench/seq2seq.h"

#include <filesystem>

#include "base/random.h"
#include "text/vocabulary.h"

namespace bench {

using namespace fovea;  // NOLINT(google-build-using-namespace): a benchmark uses most of the library's names

ModelConfig model_config(const std::string& name) {
  ModelConfig c;
  c.architecture = name;
  c.dropout = 0;
  if (name == "bahdanau") {
    c.embedding = 256;
    c.hidden = 512;
    c.attention.depth = 512;
  } else if (name == "luong") {
    c.embedding = c.hidden = 512;
    c.encoder_layers = c.decoder_layers = 2;
    c.cell = "lstm";
    c.bidirectional = false;
    c.attention.score = "general";
  } else {
    c.embedding = 256;
    c.encoder_layers = c.decoder_layers = 3;
    c.feed_forward = 1024;
    c.norm = "post";
    c.attention.score = c.self_attention.score = "scaled-dot";
    c.attention.heads = c.self_attention.heads = 4;
  }
  return c;
}

Seq2Seq::Seq2Seq(const std::string& name, Device device)
    : parameters(device), model(make_model(parameters, model_config(name), {kVocabulary, kVocabulary})) {
  parameters.allocate(1);
}

Tensor random_tokens(int64_t time, int64_t batch, uint64_t seed, Device device) {
  Random random(seed);
  std::vector<int32_t> ids(static_cast<size_t>(time * batch));
  for (int32_t& id : ids) id = static_cast<int32_t>(kEnd + 1 + random.below(kVocabulary - kEnd - 1));
  return from_host(ids, {time, batch}, device);
}

Source random_source(int64_t batch, Device device) {
  const std::vector<int32_t> lengths(static_cast<size_t>(batch), static_cast<int32_t>(kLength));
  return {random_tokens(kLength, batch, 1, device), from_host(lengths, {batch}, device)};
}

std::vector<std::unique_ptr<Worker>> start_contenders(const Options& options, const std::string& model,
                                                      const std::string& purpose, int threads) {
  std::vector<std::unique_ptr<Worker>> workers;
  const auto add = [&](std::vector<std::string> command, const std::vector<std::string>& environment,
                       const std::string& mode) {
    for (const std::string& argument : {purpose, model, mode, std::to_string(threads)}) command.push_back(argument);
    auto worker = std::make_unique<Worker>(command, environment);
    if (!worker->name().empty()) workers.push_back(std::move(worker));
  };
  const std::string program = std::filesystem::read_symlink("/proc/self/exe");
  if (purpose == "decode") add({program, "--worker"}, {}, "int8");
  for (const char* mode : {"bf16", "f32"}) add({program, "--worker"}, {}, mode);
  const Peer torch = peer(options, "seq2seq.py");
  for (const char* mode : {"f32", "bf16", "compiled"}) add(torch.command, torch.environment, mode);
  return workers;
}

}  // namespace bench
