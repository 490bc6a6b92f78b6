#include "store/folder_config.h"

#include "base/error.h"
#include "base/files.h"
#include "store/foreign_folder.h"
#include "store/json_fields.h"
#include "store/task_names.h"

namespace fovea {

FolderConfig read_folder_config(const std::string& folder) {
  if (const ForeignFormat* format = foreign_format(folder)) return format->read(folder).config;
  FolderConfig config;
  config.task = task_of_model(folder);  // decides which fields there are
  check(is_text_to_text(config.task) || config.task == "caption",
        "{}: expected a model that decodes, got one of the task {}", folder, config.task);
  Fields fields = fields_of(config);
  const std::string path = folder + "/config.json";
  fields_from_json(fields, read_file(path), path);
  return config;
}

void store_decoding_defaults(const std::string& folder, const DecodingDefaults& defaults) {
  check(foreign_format(folder) == nullptr,
        "{}: expected a model folder of Fovea, got one of another program, which is not changed", folder);
  FolderConfig config = read_folder_config(folder);
  config.decoding = defaults;
  save_config(folder, config);
}

}  // namespace fovea
