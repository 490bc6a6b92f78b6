# Writes text files into a C++ source as string_view constants.
#
# usage: cmake -DOUTPUT=FILE.cpp -DHEADER=PATH -DFILES=NAME=FILE[,NAME=FILE]... -P embed_text.cmake
#
# Each NAME becomes a `const std::string_view NAME` that HEADER declares; of a script there is a NAMEHash as well, in the
# form of a Content-Security-Policy ("sha256-" and base64). The files become parts of HTML pages that must be XML too,
# so they may hold neither "<" nor "&".

set(delimiter "fovea")

# Converts hexadecimal digits to base64: three bytes, which are six digits, become four characters.
function(to_base64 hex result)
  set(alphabet "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")
  set(text "")
  string(LENGTH "${hex}" length)
  math(EXPR last "${length} - 1")
  foreach(begin RANGE 0 ${last} 6)
    string(SUBSTRING "${hex}000000" ${begin} 6 digits)
    math(EXPR bits "0x${digits}")
    foreach(shift 18 12 6 0)
      math(EXPR index "(${bits} >> ${shift}) & 63")
      string(SUBSTRING "${alphabet}" ${index} 1 character)
      string(APPEND text "${character}")
    endforeach()
  endforeach()
  # A last group of one or two bytes ends in two or one signs of padding.
  math(EXPR padding "(3 - ${length} / 2 % 3) % 3")
  string(LENGTH "${text}" size)
  math(EXPR size "${size} - ${padding}")
  string(SUBSTRING "${text}" 0 ${size} text)
  string(REPEAT "=" ${padding} signs)
  set(${result} "${text}${signs}" PARENT_SCOPE)
endfunction()

set(source "// Written by cmake/embed_text.cmake.\n#include \"${HEADER}\"\n\nnamespace fovea {\n")
string(REPLACE "," ";" FILES "${FILES}")
foreach(entry IN LISTS FILES)
  string(REGEX MATCH "^([^=]+)=(.+)$" _ "${entry}")
  set(name "${CMAKE_MATCH_1}")
  set(file "${CMAKE_MATCH_2}")
  file(READ "${file}" text)
  if("${text}" MATCHES "[<&]")
    message(FATAL_ERROR "${file}: expected neither \"<\" nor \"&\", which XML reads as markup")
  endif()
  string(FIND "${text}" ")${delimiter}\"" place)
  if(NOT place EQUAL -1)
    message(FATAL_ERROR "${file}: expected no )${delimiter}\", which ends the C++ string that holds the file")
  endif()
  string(APPEND source "\nconst std::string_view ${name} = R\"${delimiter}(${text})${delimiter}\";\n")
  if(file MATCHES "\\.js$")
    file(SHA256 "${file}" digest)
    to_base64("${digest}" hash)
    string(APPEND source "const std::string_view ${name}Hash = \"sha256-${hash}\";\n")
  endif()
endforeach()
file(WRITE "${OUTPUT}" "${source}\n}  // namespace fovea\n")
