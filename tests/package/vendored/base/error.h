// The parent project's own header, which has the name of one of Fovea's.
#pragma once

inline constexpr int kParentError = 7;
