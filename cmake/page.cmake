# Embeds the page of `fovea serve`: FOVEA_PAGE_SOURCE is a source file that contains every file of web/dist, gzipped.
#
# With FOVEA_WEB=AUTO or ON, npm builds web/dist. If Node is not found, an existing web/dist is used. Without either, the
# program is built without the page, and a notice is served in its place.

find_package(Python3 REQUIRED COMPONENTS Interpreter)

set(web "${PROJECT_SOURCE_DIR}/web")
set(FOVEA_PAGE_SOURCE "${PROJECT_BINARY_DIR}/page_files.cpp")
set(page_depends "${PROJECT_SOURCE_DIR}/tools/embed_page.py")
set(page_folder "${web}/dist")
find_program(FOVEA_NPM npm)

if(FOVEA_WEB STREQUAL "OFF")
  set(page_folder "")
elseif(EXISTS "${web}/package.json" AND FOVEA_NPM)
  file(GLOB_RECURSE web_sources CONFIGURE_DEPENDS "${web}/src/*" "${web}/public/*" "${web}/*.html" "${web}/*.ts"
    "${web}/package.json" "${web}/package-lock.json")
  list(FILTER web_sources EXCLUDE REGEX "/(node_modules|dist)/")
  set(page_stamp "${PROJECT_BINARY_DIR}/page.stamp")
  set(page_strict $<$<STREQUAL:${FOVEA_WEB},ON>:--strict>)
  add_custom_command(OUTPUT "${page_stamp}"
    COMMAND Python3::Interpreter "${PROJECT_SOURCE_DIR}/tools/build_page.py" "${web}" "${FOVEA_NPM}" "${page_stamp}"
      ${page_strict}
    DEPENDS ${web_sources} "${PROJECT_SOURCE_DIR}/tools/build_page.py"
    COMMENT "Building the page" VERBATIM)
  list(APPEND page_depends "${page_stamp}")
elseif(FOVEA_WEB STREQUAL "ON" AND NOT EXISTS "${web}/dist/index.html")
  message(FATAL_ERROR "FOVEA_WEB=ON: expected web/package.json and npm, or a web/dist that is built")
else()
  file(GLOB_RECURSE page_built CONFIGURE_DEPENDS "${web}/dist/*")
  list(APPEND page_depends ${page_built})
endif()

add_custom_command(OUTPUT "${FOVEA_PAGE_SOURCE}"
  COMMAND Python3::Interpreter "${PROJECT_SOURCE_DIR}/tools/embed_page.py" "${FOVEA_PAGE_SOURCE}" "${page_folder}"
  DEPENDS ${page_depends}
  COMMENT "Embedding the page" VERBATIM)
