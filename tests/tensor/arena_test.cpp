#include "tensor/arena.h"

#include <gtest/gtest.h>

#include "tensor/tensor.h"

namespace fovea {
namespace {

TEST(Arena, RepeatsAddressesOnceItKnowsTheSize) {
  Arena arena(Device::cpu(), 128);
  const auto pass = [&] {
    const ArenaScope scope(&arena);
    const Tensor a = zeros({100}, DType::kF32, Device::cpu()), b = zeros({7, 11}, DType::kF64, Device::cpu());
    EXPECT_EQ(a.buffer(), nullptr);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(b.raw()) % kAlignment, 0u);
    return std::pair(a.raw(), b.raw());
  };
  pass();
  arena.rewind();
  const auto second = pass();
  arena.rewind();
  EXPECT_EQ(pass(), second);
  EXPECT_GE(arena.peak(), size_t{100 * 4 + 77 * 8});
}

TEST(Arena, IsUsedOnlyInItsScopeAndForItsDevice) {
  Arena arena(Device::cpu());
  const Tensor outside = zeros({1}, DType::kF32, Device::cpu());
  EXPECT_NE(outside.buffer(), nullptr);
  const ArenaScope scope(&arena);
  EXPECT_EQ(zeros({1}, DType::kF32, Device::cpu()).buffer(), nullptr);
  EXPECT_NE(zeros({1}, DType::kF32, Device::reference()).buffer(), nullptr);
  const ArenaScope heap(nullptr);
  EXPECT_NE(zeros({1}, DType::kF32, Device::cpu()).buffer(), nullptr);
}

TEST(Arena, ReusesReleasedMemory) {
  Arena arena(Device::cpu(), 4096);
  std::byte* a = arena.allocate(1000);
  arena.allocate(64);
  std::byte* b = arena.allocate(500);
  const size_t used = arena.used();
  arena.release(a, 1000);
  arena.release(b, 500);
  EXPECT_EQ(arena.allocate(400), b);  // the smallest piece that is large enough
  std::byte* first = arena.allocate(600);
  std::byte* second = arena.allocate(300);  // the remainder of the first piece
  EXPECT_EQ(first, a);
  EXPECT_EQ(second, a + 640);
  EXPECT_EQ(arena.used(), used);
  arena.rewind();
  EXPECT_EQ(arena.allocate(64), a);
  EXPECT_EQ(arena.allocate(64), a + 64);
}

TEST(Arena, JoinsAdjacentReleasedMemory) {
  Arena arena(Device::cpu(), 8192);
  std::byte* a = arena.allocate(1024);
  std::byte* b = arena.allocate(512);
  std::byte* c = arena.allocate(256);
  arena.allocate(64);
  const size_t used = arena.used();
  arena.release(a, 1024);
  arena.release(c, 256);
  arena.release(b, 512);
  EXPECT_EQ(arena.allocate(1024 + 512 + 256), a);
  EXPECT_EQ(arena.used(), used);
}

// Large chunks are mapped, and replaced by one at the first rewind.
TEST(Arena, LargeChunksHoldWhatIsWrittenAndAreAligned) {
  Arena arena(Device::cpu());
  constexpr size_t kBytes = (size_t{5} << 20) + 24;
  for (int pass = 0; pass < 3; ++pass) {
    for (int i = 0; i < 4; ++i) {
      std::byte* data = arena.allocate(kBytes);
      EXPECT_EQ(reinterpret_cast<uintptr_t>(data) % kAlignment, 0u);
      data[0] = data[kBytes - 1] = std::byte{7};
      EXPECT_EQ(data[0], data[kBytes - 1]);
    }
    arena.rewind();
  }
}

#if defined(__SANITIZE_ADDRESS__)
TEST(ArenaDeathTest, AddressSanitizerCatchesUseAfterRelease) {
  Arena arena(Device::cpu());
  std::byte* a = arena.allocate(64);
  arena.release(a, 64);
  EXPECT_DEATH(*a = std::byte{1}, "use-after-poison");
}

TEST(ArenaDeathTest, AddressSanitizerCatchesUseAfterRewind) {
  Arena arena(Device::cpu());
  Tensor x;
  {
    const ArenaScope scope(&arena);
    x = zeros({8}, DType::kF32, Device::cpu());
  }
  arena.rewind();
  EXPECT_DEATH(x.data<float>()[3] = 1.0f, "use-after-poison");
}
#endif

}  // namespace
}  // namespace fovea
