// Runs a model that does not translate, by its task: classifies a text, answers a question about a passage, or
// describes a picture. Models are loaded once; any number of threads may use one at the same time.
//   tasks sentiment-en "a film to remember"
//   tasks answer-zh PASSAGE QUESTION
//   tasks caption-en photo.jpg
#include <fovea/decode/options.h>
#include <fovea/store/model_folder.h>
#include <fovea/store/shipped.h>
#include <fovea/tasks/captioner.h>
#include <fovea/tasks/classifier.h>
#include <fovea/tasks/reader.h>

#include <cstdio>
#include <exception>
#include <string>
#include <vector>

namespace {

void classify(const std::string& folder, const std::string& text) {
  const fovea::Classifier classifier(folder);
  const fovea::Classification found = classifier.classify(std::vector{text}).front();
  for (const fovea::ClassProbability& each : found.classes) {
    std::printf("%s %.3f\n", each.label.c_str(), each.probability);
  }
}

void answer(const std::string& folder, const std::string& passage, const std::string& question) {
  const fovea::Reader reader(folder);
  const std::vector<fovea::PassageQuestion> questions{{passage, question}};
  const fovea::Answer best = reader.answer(questions).front().answers.front();
  std::printf("%s (%.3f)\n", best.text.c_str(), best.probability);
}

void describe(const std::string& folder, const std::string& file) {
  const fovea::Captioner captioner(folder);
  const std::vector<fovea::Image> images{fovea::read_image(file, captioner.size())};
  std::printf("%s\n", captioner.caption(images, fovea::default_search("caption")).front().text().c_str());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: tasks MODEL TEXT | MODEL PASSAGE QUESTION | MODEL PICTURE\n");
    return 2;
  }
  try {
    const std::string folder = fovea::find_model(argv[1]), task = fovea::task_of_model(folder);
    if (task == "classify") {
      classify(folder, argv[2]);
    } else if (task == "answer" && argc == 4) {
      answer(folder, argv[2], argv[3]);
    } else if (task == "caption") {
      describe(folder, argv[2]);
    } else {
      std::fprintf(stderr, "tasks: no program for a model of the task %s with these arguments\n", task.c_str());
      return 2;
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "tasks: %s\n", error.what());
    return 1;
  }
  return 0;
}
