// zlib's format (RFC 1950) around stored blocks of deflate (RFC 1951, 3.2.4).
#include <zlib.h>

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace {

constexpr uLong kBlock = 65535, kBlockHead = 5, kHead = 2, kChecksum = 4;

uint32_t adler32(const Bytef* from, uLong bytes) {
  constexpr uint32_t kPrime = 65521;
  uint32_t a = 1, b = 0;
  for (uLong i = 0; i < bytes; ++i) {
    a = (a + from[i]) % kPrime;
    b = (b + a) % kPrime;
  }
  return b << 16 | a;
}

}  // namespace

// CRC-32 of ISO 3309, bit by bit; `sum` is that of the bytes before.
uLong crc32(uLong sum, const Bytef* from, uInt bytes) {
  auto crc = ~static_cast<uint32_t>(sum);
  for (uInt i = 0; i < bytes; ++i) {
    crc ^= from[i];
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (crc & 1 ? 0xEDB88320u : 0u);
  }
  return static_cast<uint32_t>(~crc);
}

uLong compressBound(uLong bytes) {
  const uLong blocks = std::max<uLong>(1, (bytes + kBlock - 1) / kBlock);
  return kHead + blocks * kBlockHead + bytes + kChecksum;
}

int compress2(Bytef* to, uLongf* to_bytes, const Bytef* from, uLong bytes, int) {
  if (*to_bytes < compressBound(bytes)) return Z_BUF_ERROR;
  Bytef* out = to;
  *out++ = 0x78;  // deflate with a window of 32 KB
  *out++ = 0x01;  // makes the two bytes a multiple of 31
  uLong at = 0;
  do {
    const uLong count = std::min(kBlock, bytes - at);
    *out++ = at + count == bytes ? 1 : 0;  // whether the block is the last
    for (const uLong length : {count, ~count}) {
      *out++ = static_cast<Bytef>(length & 0xFF);
      *out++ = static_cast<Bytef>(length >> 8 & 0xFF);
    }
    std::memcpy(out, from + at, count);
    out += count;
    at += count;
  } while (at < bytes);
  const uint32_t sum = adler32(from, bytes);
  for (int shift = 24; shift >= 0; shift -= 8) *out++ = static_cast<Bytef>(sum >> shift);
  *to_bytes = static_cast<uLongf>(out - to);
  return Z_OK;
}
