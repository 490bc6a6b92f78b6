// What the tensor room asks of a graphics card: memory, copies and the queue they are ordered on. One of two
// files stands behind it: cuda.cpp, or no_cuda.cpp in a build without CUDA, where everything is an Error.
#pragma once

#include <cstddef>
#include <string_view>

#include "tensor/device.h"

namespace fovea::cuda {

int device_count();  // 0 in a build without CUDA, and on a machine without a card
// The cudaStream_t of a device. All threads queue on the same one, so that what one thread has written another
// may read without waiting.
void* stream(Device device);
void use(Device device);          // makes it the one this thread's CUDA calls are about
void synchronize(Device device);  // waits for everything queued
// Error when a call of the CUDA runtime failed (`status` is its cudaError_t).
void require(int status, std::string_view what);

std::byte* allocate(Device device, size_t bytes);
void release(Device device, std::byte* data) noexcept;
void zero(Device device, std::byte* data, size_t bytes);
// To a device: copied into pinned memory at once and from there in the stream's order, so that the host does not
// wait. From a device: waits. A capture of the stream must not hold a copy from the host, which would be replayed
// with whatever lies in the pinned memory by then: what changes from step to step is copied before the replay.
void copy(Device to_device, std::byte* to, Device from_device, const std::byte* from, size_t bytes);

}  // namespace fovea::cuda
