// Reads captions of images: lines `image<TAB>caption`, several for an image; or, from a file whose name ends with
// .json, as COCO's: a list of objects with `image_id` and `caption`, or an object with such a list as `annotations`.
// Either may be compressed by gzip.
#pragma once

#include <string>
#include <vector>

#include "evaluate/segment.h"

namespace fovea {

struct CaptionSet {
  std::vector<std::string> images;                 // in the order in which they first occur
  std::vector<std::vector<std::string>> captions;  // of each image
};

// Errors name the file and the line, or the item of a list. Captions may be empty; the names of images may not.
CaptionSet read_captions(const std::string& path);

// The images of the references with one hypothesis each. `path` has the hypotheses in one of the forms above, with one
// caption an image, or as lines without a tab: a caption for each image of the references, in their order.
std::vector<Segment> read_caption_hypotheses(const std::string& path, const CaptionSet& references);

}  // namespace fovea
