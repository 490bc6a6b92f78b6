// What Fovea uses of zlib, for builds without it: WebAssembly has none from Debian. Streams are written without
// compression, as blocks that deflate calls stored, because they do not leave the machine; nothing is decompressed.
#pragma once

#include <cstddef>

using Bytef = unsigned char;
using uInt = unsigned int;
using uLong = unsigned long;
using uLongf = uLong;

constexpr int Z_OK = 0, Z_STREAM_END = 1, Z_VERSION_ERROR = -6, Z_BUF_ERROR = -5;
constexpr int Z_NO_FLUSH = 0, Z_DEFAULT_COMPRESSION = -1;

struct z_stream {
  const Bytef* next_in = nullptr;
  uInt avail_in = 0;
  Bytef* next_out = nullptr;
  uInt avail_out = 0;
  const char* msg = nullptr;
};

uLong compressBound(uLong bytes);
uLong crc32(uLong sum, const Bytef* from, uInt bytes);
int compress2(Bytef* to, uLongf* to_bytes, const Bytef* from, uLong bytes, int level);

// Decompression cannot begin here.
inline int inflateInit(z_stream*) { return Z_VERSION_ERROR; }
inline int inflateInit2(z_stream*, int) { return Z_VERSION_ERROR; }
inline int inflate(z_stream*, int) { return Z_VERSION_ERROR; }
inline int inflateReset(z_stream*) { return Z_VERSION_ERROR; }
inline int inflateEnd(z_stream*) { return Z_VERSION_ERROR; }
