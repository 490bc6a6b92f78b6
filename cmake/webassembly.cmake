# The engine for web pages, compiled by Emscripten (docs/browser.md). Libraries of the machine cannot be linked. Of those
# that consist of headers, only these folders are visible to the compiler; fmt is compiled here. SentencePiece, zlib and
# the libraries for pictures are left out.
set(web_headers "${PROJECT_BINARY_DIR}/headers")
file(MAKE_DIRECTORY "${web_headers}")
foreach(library fmt hwy nlohmann toml++ CLI)
  if(NOT EXISTS "/usr/include/${library}")
    message(FATAL_ERROR "expected the headers /usr/include/${library}; tools/install-packages --web installs them")
  endif()
  file(CREATE_LINK "/usr/include/${library}" "${web_headers}/${library}" SYMBOLIC)
endforeach()

add_compile_options(-msimd128 -fwasm-exceptions -Wno-unused-private-field
  "SHELL:-include ${PROJECT_SOURCE_DIR}/apps/web/headers/standard_library.h")
add_link_options(-fwasm-exceptions)
include_directories("${PROJECT_SOURCE_DIR}/apps")
include_directories(SYSTEM "${web_headers}" "${PROJECT_SOURCE_DIR}/apps/web/headers")

file(CONFIGURE OUTPUT "${PROJECT_BINARY_DIR}/fmt.cpp" CONTENT "#include <fmt/format-inl.h>

FMT_BEGIN_NAMESPACE
namespace detail {
template FMT_API auto dragonbox::to_decimal(float) noexcept -> dragonbox::decimal_fp<float>;
template FMT_API auto dragonbox::to_decimal(double) noexcept -> dragonbox::decimal_fp<double>;
template FMT_API locale_ref::locale_ref(const std::locale&);
template FMT_API auto locale_ref::get<std::locale>() const -> std::locale;
template FMT_API auto thousands_sep_impl(locale_ref) -> thousands_sep_result<char>;
template FMT_API auto decimal_point_impl(locale_ref) -> char;
template FMT_API void buffer<char>::append(const char*, const char*);
template FMT_API void vformat_to(buffer<char>&, string_view, basic_format_args<FMT_BUFFER_CONTEXT(char)>, locale_ref);
}
FMT_END_NAMESPACE
" @ONLY)
add_library(fovea_fmt STATIC "${PROJECT_BINARY_DIR}/fmt.cpp")
add_library(fmt::fmt ALIAS fovea_fmt)

add_library(fovea_stored_zlib STATIC "${PROJECT_SOURCE_DIR}/apps/web/stored_zlib.cpp")
add_library(ZLIB::ZLIB ALIAS fovea_stored_zlib)

# Headers alone, found in the folder above; and libraries of rooms that are not built for pages.
foreach(library Threads::Threads nlohmann_json::nlohmann_json tomlplusplus::tomlplusplus CLI11::CLI11 PkgConfig::hwy
    PkgConfig::sentencepiece EXPAT::EXPAT)
  add_library(${library} INTERFACE IMPORTED GLOBAL)
endforeach()
