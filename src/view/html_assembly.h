// Assembles the HTML pages of all views: head, policy, style, controls, picture, numbers, data and script.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "view/grid.h"

namespace fovea {

struct Page {
  std::string title, how;  // how: instructions for use
  std::string controls;    // XML above the picture
  std::string svg, data;
  std::string background;
  std::span<const Grid> grids;
};

std::string assemble(const Page& page);

// Buttons and a slider that step through `steps`, hidden until the script runs.
std::string player(int64_t steps, std::string_view all);

// A JSON string that contains no character that could end an element of HTML or XML.
std::string json_string(std::string_view text);

template <class Items, class Each> std::string json_array(const Items& items, Each&& each) {
  std::string out = "[";
  for (const auto& item : items) {
    if (out.size() > 1) out += ',';
    out += each(item);
  }
  return out + "]";
}

}  // namespace fovea
