# The public headers are the headers listed here and the headers that they include. They are installed, and programs
# outside this project include them as <fovea/ROOM/NAME.h>, or all of them as <fovea/fovea.h>. All other headers are
# internal and change without notice.
set(entry_headers
  # Translate, and read attention records.
  base/error.h
  base/signals.h
  base/threads.h
  attention/record.h
  decode/options.h
  decode/translator.h
  store/shipped.h

  # Classify, answer questions, describe pictures.
  tasks/captioner.h
  tasks/classifier.h
  tasks/image_classifier.h
  tasks/reader.h

  # Draw attention records and write them to files.
  view/curves.h
  view/given_record.h
  view/html.h
  view/record_file.h
  view/record_view.h
  view/reduce.h
  view/svg.h
  view/svg_render.h
  view/terminal.h

  # Train from a recipe.
  train/train.h

  # Write a model of one's own: operations on tensors with gradients, layers, attention, the optimiser.
  ops/ops.h
  nn/layers.h
  nn/recurrent.h
  attention/attention.h
  models/model.h
  train/optimiser.h)

# Inside this project a header is included as "tensor/shape.h", with src/ on the path. Outside it has only one name,
# <fovea/tensor/shape.h>: the build folder has copies that include each other by that name.
set(public_folder "${PROJECT_BINARY_DIR}/include/fovea")
file(GLOB_RECURSE stale_headers RELATIVE "${public_folder}" "${public_folder}/*.h")
set(public_headers "")
set(unread_headers ${entry_headers})
while(unread_headers)
  list(POP_FRONT unread_headers header)
  if(header IN_LIST public_headers)
    continue()
  endif()
  list(APPEND public_headers "${header}")
  file(READ "${PROJECT_SOURCE_DIR}/src/${header}" text)
  string(REGEX MATCHALL "#include \"[^\"]+\"" included "${text}")
  list(TRANSFORM included REPLACE "#include \"(.*)\"" "\\1")
  list(APPEND unread_headers ${included})
  string(REGEX REPLACE "#include \"([^\"]+)\"" "#include <fovea/\\1>" text "${text}")
  file(CONFIGURE OUTPUT "${public_folder}/${header}" CONTENT "${text}" @ONLY)
endwhile()
list(TRANSFORM entry_headers REPLACE "(.+)" "#include <fovea/\\1>" OUTPUT_VARIABLE all_headers)
list(JOIN all_headers "\n" all_headers)
file(CONFIGURE OUTPUT "${public_folder}/fovea.h" CONTENT "// Includes the whole library.\n#pragma once\n\n${all_headers}\n" @ONLY)
list(REMOVE_ITEM stale_headers ${public_headers} fovea.h)
foreach(header IN LISTS stale_headers)
  file(REMOVE "${public_folder}/${header}")
endforeach()

list(TRANSFORM public_headers PREPEND "${PROJECT_SOURCE_DIR}/src/")
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${public_headers})
