// Reads arrays of numpy's .npz files, for tests that compare with numbers computed elsewhere.
#pragma once

#include <zlib.h>

#include <cstdint>
#include <cstring>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/files.h"

namespace fovea {

class NpzFile {
 public:
  explicit NpzFile(const std::string& path) : bytes_(read_file(path)) {
    // The central directory, found by its end record, has the place of each array.
    const size_t end = bytes_.rfind("PK\5\6");
    check(end != std::string::npos, "{}: expected a zip file", path);
    size_t at = number<uint32_t>(end + 16);
    for (uint16_t i = 0; i < number<uint16_t>(end + 10); ++i) {
      const auto name_size = number<uint16_t>(at + 28);
      entries_[bytes_.substr(at + 46, name_size)] = at;
      at += size_t{46} + name_size + number<uint16_t>(at + 30) + number<uint16_t>(at + 32);
    }
  }

  // The elements of the array `name`, whose dtype must be T's.
  template <class T> std::vector<T> read(const std::string& name) const {
    const std::string npy = inflated(entries_.at(name + ".npy"));
    uint16_t header = 0;
    std::memcpy(&header, npy.data() + 8, sizeof header);
    const std::string_view about(npy.data() + 10, header);
    const std::string_view dtype = sizeof(T) == 1 ? "'|u1'" : "'<f4'";
    check(about.find(dtype) != std::string_view::npos, "{}: expected {}, got {}", name, dtype, about);
    std::vector<T> elements((npy.size() - 10 - header) / sizeof(T));
    std::memcpy(elements.data(), npy.data() + 10 + header, elements.size() * sizeof(T));
    return elements;
  }

 private:
  template <class T> T number(size_t at) const {
    T x = 0;
    std::memcpy(&x, bytes_.data() + at, sizeof x);
    return x;
  }
  std::string inflated(size_t entry) const {
    const size_t local = number<uint32_t>(entry + 42);
    const size_t data = local + 30 + number<uint16_t>(local + 26) + number<uint16_t>(local + 28);
    const auto packed = number<uint32_t>(entry + 20);
    if (number<uint16_t>(entry + 10) == 0) return bytes_.substr(data, packed);
    std::string out(number<uint32_t>(entry + 24), '\0');
    z_stream stream{};
    check(inflateInit2(&stream, -MAX_WBITS) == Z_OK, "zlib: cannot start");
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes_.data() + data));
    stream.avail_in = packed;
    stream.next_out = reinterpret_cast<Bytef*>(out.data());
    stream.avail_out = static_cast<uInt>(out.size());
    const int result = inflate(&stream, Z_FINISH);
    inflateEnd(&stream);
    check(result == Z_STREAM_END, "zlib: damaged data");
    return out;
  }

  std::string bytes_;
  std::map<std::string, size_t> entries_;
};

}  // namespace fovea
