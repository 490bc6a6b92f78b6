#include "bench/seq2seq.h"

#include <algorithm>
#include <filesystem>

#include "base/random.h"
#include "text/vocabulary.h"

namespace bench {

using namespace fovea;  // NOLINT(google-build-using-namespace): a benchmark uses most of the library's names

std::vector<std::string> Sizes::arguments() const {
  return {std::to_string(batch), std::to_string(length), std::to_string(vocabulary), std::to_string(width)};
}

Sizes Sizes::from(std::span<const char* const> arguments) {
  if (arguments.size() != 4) return {};
  return {std::stoll(arguments[0]), std::stoll(arguments[1]), std::stoll(arguments[2]), std::stoll(arguments[3])};
}

ModelConfig model_config(const std::string& name, int64_t width) {
  ModelConfig c;
  c.architecture = name;
  c.dropout = 0;
  if (name == "bahdanau") {
    c.embedding = width;
    c.hidden = c.attention.depth = 2 * width;
  } else if (name == "luong") {
    c.embedding = c.hidden = 2 * width;
    c.encoder_layers = c.decoder_layers = 2;
    c.cell = "lstm";
    c.bidirectional = false;
    c.attention.score = "general";
  } else {
    c.embedding = width;
    c.encoder_layers = c.decoder_layers = 3;
    c.feed_forward = 4 * width;
    c.norm = "post";
    c.attention.score = c.self_attention.score = "scaled-dot";
    c.attention.heads = c.self_attention.heads = std::max<int64_t>(1, width / 64);
    c.longest = 1024;
  }
  return c;
}

Seq2Seq::Seq2Seq(const std::string& name, Device device, const Sizes& sizes)
    : parameters(device),
      model(make_model(parameters, model_config(name, sizes.width), {sizes.vocabulary, sizes.vocabulary})) {
  parameters.allocate(1);
}

Tensor random_tokens(int64_t time, int64_t batch, uint64_t seed, Device device, int64_t vocabulary) {
  Random random(seed);
  std::vector<int32_t> ids(static_cast<size_t>(time * batch));
  for (int32_t& id : ids)
    id = static_cast<int32_t>(kEnd + 1 + random.below(static_cast<uint32_t>(vocabulary - kEnd - 1)));
  return from_host(ids, {time, batch}, device);
}

Source random_source(int64_t batch, Device device, int64_t length, int64_t vocabulary) {
  const std::vector<int32_t> lengths(static_cast<size_t>(batch), static_cast<int32_t>(length));
  return {random_tokens(length, batch, 1, device, vocabulary), from_host(lengths, {batch}, device)};
}

std::vector<std::unique_ptr<Worker>> start_contenders(const Options& options, const std::string& model,
                                                      const std::string& purpose, int threads, const Sizes& sizes) {
  std::vector<std::unique_ptr<Worker>> workers;
  const auto add = [&](std::vector<std::string> command, const std::vector<std::string>& environment,
                       const std::string& mode) {
    for (const std::string& argument : {purpose, model, mode, std::to_string(threads)}) command.push_back(argument);
    if (purpose == "train") std::ranges::copy(sizes.arguments(), std::back_inserter(command));
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
