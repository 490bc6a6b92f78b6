// Translates its arguments and says what each word of the translation looked at most: Fovea inside another program.
#include <algorithm>
#include <cstdio>
#include <exception>

#include "decode/translator.h"

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: embed MODEL SENTENCE...\n");
    return 2;
  }
  try {
    const fovea::Translator translator({argv[1]}, {});
    const std::vector<std::string> lines(argv + 2, argv + argc);
    fovea::SearchOptions search;
    search.beam = 5;
    search.keep_weights = true;
    const std::vector<fovea::Translation> found = translator.translate(lines, search);
    for (size_t i = 0; i < lines.size(); ++i) {
      std::printf("%s\n", found[i].text().c_str());
      if (found[i].source_tokens == 0) continue;  // an empty line
      const auto record = translator.record(lines[i], found[i].candidates.front().hypothesis);
      std::printf("  from %zu tokens to %zu\n", record.source.size(), record.target.size());
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "embed: %s\n", error.what());
    return 1;
  }
  return 0;
}
