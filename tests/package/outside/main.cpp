// Trains a small model from a recipe, translates with it and draws a matrix, with nothing but public headers.
//   outside RECIPE FOLDER
#include <fovea/fovea.h>

#include <atomic>
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

namespace {

class Counter final : public fovea::TrainingListener {
 public:
  int steps = 0, validations = 0;

  void message(const std::string&) override {}
  void stepped(const fovea::StepReport&) override { ++steps; }
  void validating(int64_t, int64_t) override {}
  void validated(const fovea::ValidationReport&) override { ++validations; }
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  try {
    const std::string folder = argv[2];
    const std::vector<std::string> changes{"folder=" + folder,       "data.generated=200",    "data.generated_valid=10",
                                           "training.steps=4",       "validation.every=2",    "validation.sentences=4",
                                           "validation.metric=loss", "validation.goal=0",     "model.hidden=32",
                                           "model.embedding=16",     "training.precision=f32"};
    const std::atomic<bool> interrupt = false;
    Counter counter;
    const fovea::TrainingResult result =
        fovea::train(fovea::read_recipe(argv[1], changes), fovea::Start::kNew, counter, interrupt);
    const fovea::Translator translator({folder}, {});
    const std::vector<std::string> lines{"a b c", "x"};
    const std::vector<fovea::Translation> found = translator.translate(lines, {});
    fovea::Grid grid;
    grid.rows = {{"a"}};
    grid.columns = {{"b"}, {"c"}};
    grid.weights = {0.25f, 0.75f};
    const std::string svg = fovea::heatmap_svg(grid, {});
    std::printf("%d steps, %d validations, %zu translations, %zu bytes of SVG\n", counter.steps, counter.validations,
                found.size(), svg.size());
    return result.steps == 4 && counter.steps == 4 && counter.validations > 0 && found.size() == 2 ? 0 : 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "outside: %s\n", error.what());
    return 1;
  }
}
