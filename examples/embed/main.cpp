// Translates its arguments and prints the source token with the largest attention weight for each token of the
// translation. A Translator is loaded once; any number of threads may use it at the same time. Errors (a missing model,
// text that is not UTF-8) are exceptions with a message for the user.
#include <fovea/decode/translator.h>
#include <fovea/store/shipped.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <exception>

namespace {

// The mean of all layers and heads: [row, column].
std::vector<float> mean_of(const fovea::RecordedAttention& a) {
  std::vector<float> mean(static_cast<size_t>(a.rows * a.columns));
  for (size_t i = 0; i < a.weights.size(); ++i) {
    const float weight = std::isnan(a.weights[i]) ? 0 : a.weights[i];  // masked
    mean[i % mean.size()] += weight / float(a.layers * a.heads);
  }
  return mean;
}

void print_attention(const fovea::AttentionRecord& record) {
  for (const fovea::RecordedAttention& a : record.attentions) {
    if (a.kind != "cross") continue;
    const std::vector<float> mean = mean_of(a);
    for (int64_t t = 0; t < a.rows; ++t) {
      const auto row = mean.begin() + t * a.columns;
      const auto most = std::max_element(row, row + a.columns);
      std::printf("  %s <- %s (%.2f)\n", record.target[size_t(t)].text.c_str(),
                  record.source[size_t(most - row)].text.c_str(), *most);
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: embed MODEL SENTENCE...\n");
    return 2;
  }
  try {
    const fovea::Translator translator({fovea::find_model(argv[1])}, {});
    const std::vector<std::string> sentences(argv + 2, argv + argc);
    const std::vector<fovea::SharedLine> lines = translator.tokenise_source(sentences, fovea::Offsets::kTokens);
    fovea::SearchOptions search;
    search.beam = 5;
    search.capture_weights = true;
    const std::vector<fovea::Translation> found = translator.translate(lines, search);
    for (size_t i = 0; i < lines.size(); ++i) {
      std::printf("%s\n", found[i].text().c_str());
      if (found[i].source_tokens == 0) continue;  // an empty line
      print_attention(translator.record(*lines[i], found[i].candidates.front().hypothesis));
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "embed: %s\n", error.what());
    return 1;
  }
  return 0;
}
