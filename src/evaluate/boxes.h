// Reads where the things are that captions name: JSON lines, plain or gzip, one image each:
// {"image": "a.jpg", "sentences": [{"text": "A dog runs .", "phrases": [{"words": [0, 2], "type": "animals",
//  "boxes": [[0.1, 0.2, 0.5, 0.9]]}]}]}
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace fovea {

// Shares of the picture's width and height, from its top left corner.
struct Box {
  double x0 = 0, y0 = 0, x1 = 0, y1 = 0;
};

struct BoxedPhrase {
  int64_t from = 0, to = 0;  // its words: [from, to) of the text split at spaces
  std::string type;          // "people"; of a phrase with two types "vehicles/scene"
  std::vector<Box> boxes;    // at least one
};

struct BoxedCaption {
  std::string text;
  std::vector<BoxedPhrase> phrases;
};

struct BoxedImage {
  std::string image;
  std::vector<BoxedCaption> captions;
};

// Errors name the file and the line.
std::vector<BoxedImage> read_boxes(const std::string& path);

// The share of the picture that the boxes cover together.
double covered_area(const std::vector<Box>& boxes);

}  // namespace fovea
