// Entries of the CPU table that have no implementation of their own yet run the reference's (f32 only).
#include "kernels/cpu/functions.h"
#include "kernels/reference/functions.h"

#define FOVEA_FALLBACK(name, Args) \
  void fovea::cpu::name(Stream& stream, const Args& args) { reference::name(stream, args); }

