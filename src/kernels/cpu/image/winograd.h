// Convolution with windows of 3x3 and stride 1 by the minimal filtering F(2x2,3x3) of Winograd (Lavin and Gray 2016):
// Y = A^T [(G g G^T) * (B^T d B)] A. Each tile d of 4x4 pixels gives 2x2 results with 16 products for each pair of
// channels, where the sum over windows needs 36. The products of all tiles are 16 GEMMs.
#pragma once

#include "kernels/kernels.h"

namespace fovea::cpu {

// Whether the algorithm applies and is faster: it needs enough tiles and channels for the GEMMs.
bool suits_winograd(const Conv2dArgs& args);
// The bits do not depend on the number of threads.
void conv2d_winograd(const Conv2dArgs& args);

}  // namespace fovea::cpu
