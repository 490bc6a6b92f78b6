#include "tasks/image_classify_data.h"

#include <algorithm>
#include <filesystem>
#include <numeric>

#include "base/error.h"

namespace fovea {

namespace fs = std::filesystem;

namespace {

bool is_hidden(const fs::path& path) { return path.filename().string().starts_with("."); }

std::vector<fs::path> sorted_entries(const fs::path& folder) {
  std::vector<fs::path> entries;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    if (!is_hidden(entry.path())) entries.push_back(entry.path());
  }
  std::sort(entries.begin(), entries.end());
  return entries;
}

// A folder for each label. Files beside these folders are left alone: a list, a licence.
LabelledText read_folder(const std::string& path) {
  LabelledText found;
  for (const fs::path& label : sorted_entries(path)) {
    if (!fs::is_directory(label)) continue;
    for (const fs::path& file : sorted_entries(label)) {
      check(fs::is_regular_file(file), "{}: expected a picture in the folder of a label, got a folder", file.string());
      found.labels.push_back(label.filename().string());
      found.texts.push_back(file.string());
      found.lines.push_back(0);
    }
  }
  check(!found.texts.empty(), "{}: expected a folder of pictures for each label, got none", path);
  return found;
}

}  // namespace

LabelledText read_labelled_images(const std::string& path, const std::string& images,
                                  const LabelledTextOptions& given) {
  if (fs::is_directory(path)) return read_folder(path);
  LabelledTextOptions options = given;
  if (options.text_column == LabelledTextOptions().text_column) options.text_column = "image";
  LabelledText found = read_labelled(path, options);
  for (size_t i = 0; i < found.texts.size(); ++i) {
    check(!found.texts[i].empty(), "{}:{}: expected the name of a picture, got none", path, found.lines[i]);
    found.texts[i] = (fs::path(images) / found.texts[i]).string();
    check(fs::is_regular_file(found.texts[i]), "{}:{}: {}: expected a picture, found no such file; {}", path,
          found.lines[i], found.texts[i], "its folder is data.images, or --images");
  }
  return found;
}

ImageClassifyData::ImageClassifyData(const TaskSetup& setup)
    : labelled_(setup, "picture",
                [&](const std::string& path) {
                  return read_labelled_images(path, setup.recipe.data.images, setup.recipe.classify.text);
                }),
      augment_(setup.recipe.vision.frozen ? AugmentConfig() : setup.recipe.vision.augment),
      seed_(static_cast<uint64_t>(setup.recipe.seed)) {
  for (int32_t i = 0; i < labelled_.train().size(); ++i) numbers_.source.append({&i, 1});
  BatchOptions options = setup.recipe.batch;
  options.seed = setup.recipe.seed;
  options.end_source = options.reverse_source = false;
  options.tokens = 0;
  batcher_.emplace(numbers_, options);
}

std::vector<std::string> ImageClassifyData::files() const {
  std::vector<std::string> all = labelled_.train().texts;
  all.insert(all.end(), labelled_.valid().texts.begin(), labelled_.valid().texts.end());
  return all;
}

std::vector<int32_t> ImageClassifyData::valid_numbers() const {
  std::vector<int32_t> numbers(labelled_.valid().texts.size());
  std::iota(numbers.begin(), numbers.end(), static_cast<int32_t>(labelled_.train().size()));
  return numbers;
}

void ImageClassifyData::next() {
  const int64_t epoch = batcher_->state().epoch;
  batch_ = {.epoch = epoch, .rows = batcher_->next_rows()};
  batch_.padded_tokens = std::ssize(batch_.rows);  // a picture counts as one
}

LabelledBatch ImageClassifyData::part(int64_t index, Device device) const {
  const auto rows = batch_.part(index);
  LabelledBatch made = labelled_.targets(rows, batch_.rows, device);
  const std::vector<int32_t> numbers(rows.begin(), rows.end());
  if (!augment_.changes_anything()) {
    made.source.images = pictures_->images(numbers, device);
    return made;
  }
  std::vector<Augmentation> changes;
  for (const int64_t row : rows) {
    changes.push_back(
        draw_augmentation(augment_, pictures_->size(), pictures_->size(), true, seed_, batch_.epoch, row));
  }
  made.source.images = pictures_->augmented(numbers, changes, device);
  return made;
}

}  // namespace fovea
