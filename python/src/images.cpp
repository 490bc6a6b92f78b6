#include <filesystem>

#include "bindings.h"

namespace fovea::python {

namespace {

Image image_of(const py::array& array, std::string_view what) {
  if (!py::isinstance<py::array_t<uint8_t>>(array) || array.ndim() != 3 || array.shape(2) != 3) {
    fail("{}: expected an array of uint8 with the shape (height, width, 3), got {} with the shape {}", what,
         std::string(py::str(array.dtype())), std::string(py::str(array.attr("shape"))));
  }
  const auto plain = py::array_t<uint8_t, py::array::c_style | py::array::forcecast>::ensure(array);
  const int64_t height = plain.shape(0), width = plain.shape(1);
  check(height > 0 && width > 0 && height * width <= kMaxImagePixels,
        "{}: expected a picture of 1 to {} pixels, got {} x {}", what, kMaxImagePixels, width, height);
  return {.width = width, .height = height, .pixels = {plain.data(), plain.data() + plain.size()}};
}

Picture picture_of(py::handle given, int64_t size, bool for_records, std::string_view what) {
  if (py::isinstance<py::array>(given)) {
    Image image = image_of(py::reinterpret_borrow<py::array>(given), what);
    return {.image = image, .shown = for_records ? image : Image(), .name = "array"};
  }
  const std::string path = path_of(given);
  const py::gil_scoped_release released;
  return {.image = read_image(path, size),
          .shown = for_records ? read_image(path, RecordImage::kMaxSide) : Image(),
          .name = std::filesystem::path(path).filename().string()};
}

}  // namespace

Pictures pictures_of(py::handle argument, int64_t size, bool for_records, std::string_view what) {
  const bool one_array = py::isinstance<py::array>(argument) && py::reinterpret_borrow<py::array>(argument).ndim() == 3;
  if (py::isinstance<py::str>(argument) || one_array || py::hasattr(argument, "__fspath__")) {
    Pictures pictures;
    pictures.list.push_back(picture_of(argument, size, for_records, what));
    pictures.single = true;
    return pictures;
  }
  if (!py::isinstance<py::iterable>(argument) || py::isinstance<py::bytes>(argument)) {
    throw py::type_error(fmt::format("{}: expected the file of a picture, an array, or a sequence of them", what));
  }
  Pictures pictures;
  for (const py::handle item : argument) pictures.list.push_back(picture_of(item, size, for_records, what));
  return pictures;
}

}  // namespace fovea::python
