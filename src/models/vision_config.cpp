#include "models/vision_config.h"

#include "attention/registry.h"
#include "base/fields.h"
#include "models/image_network.h"
#include "models/nonlocal.h"

namespace fovea {

void VisionConfig::describe(Fields& f) {
  f.add("network", network, "Convolutional network.")
      .choices(names_of(image_networks()))
      .also_called({"backbone", "cnn", "encoder"});
  f.add("size", size, "Height and width of a picture for the network, in pixels: pictures are squashed to a square.")
      .at_least(32)
      .at_most(4096)
      .also_called({"image_size", "resolution", "input_size"});
  f.add("layer", layer, "Layer whose feature map is attended over, as blocks.16; empty for the last one.")
      .also_called({"tap", "feature_layer"});
  f.add("weights", weights,
        "safetensors file of weights that the network starts with, convolutions as [out,in,height,width]; empty for "
        "random ones.")
      .also_called({"pretrained", "checkpoint"});
  f.add("frozen", frozen,
        "Whether the network keeps its weights. Its feature maps are then computed once for all training.")
      .also_called({"freeze"});
  f.add("positions", positions, "Positions in two dimensions that are added to the feature map.")
      .choices({"none", "learned", "sinusoidal"});
  f.add("depth", depth, "Size to which each vector of the feature map is projected; 0 for no projection.")
      .at_least(0)
      .also_called({"projection"});
  f.add("dropout", dropout, "Dropout of the feature map before its projection.").at_least(0).below(1);
  std::vector<std::string> forms = names_of(nonlocal_forms());
  forms.insert(forms.begin(), "none");
  f.add("nonlocal", nonlocal,
        "Non-local block (Wang et al. 2018) in the network or, if the network is frozen, after the projection of its "
        "feature map.")
      .choices(std::move(forms))
      .also_called({"non_local", "nonlocal_block"});
}

}  // namespace fovea
