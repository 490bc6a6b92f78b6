// Models as ONNX graphs, beside a description of their inputs and outputs. docs/interchange.md describes the files.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "onnx/graph.h"
#include "store/caption_folder.h"
#include "store/classifier_folder.h"

namespace fovea::onnx {

struct File {
  std::string name, bytes;
};

// What a folder of an exported model contains: graphs, vocabularies and model.json.
struct Exported {
  std::vector<std::unique_ptr<Graph>> graphs;  // graph NAME is NAME.onnx
  std::vector<File> files;                     // the others
};

// Throw an Error that names the setting of a model that is not exported.
Exported export_model(const LoadedModel& model);
Exported export_model(const LoadedCaptioner& captioner);
Exported export_model(const LoadedClassifier& classifier);

// Writes all files to a folder, which is created if it does not exist. Nothing is written if a graph is too large.
void write(const Exported& exported, const std::string& folder);
// Writes the model in `folder` to the new folder `output`.
void export_folder(const std::string& folder, const std::string& output);

}  // namespace fovea::onnx
