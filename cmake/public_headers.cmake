# The public headers: what a program outside this project includes, as <fovea/ROOM/NAME.h>, and what is installed.
# <fovea/fovea.h> includes all of them. A public header includes only public headers; the others are internals, which
# change without notice.
set(public_headers
  # Translate, and read what was attended to.
  base/error.h
  base/fields.h
  base/signals.h
  base/threads.h
  attention/record.h
  decode/record.h
  decode/search.h
  decode/translator.h
  store/model_folder.h
  store/safetensors.h
  store/shipped.h

  # Draw a record and write it to files.
  view/grid.h
  view/html.h
  view/record_file.h
  view/reduce.h
  view/style.h
  view/svg.h
  view/svg_render.h
  view/terminal.h

  # Train from a recipe.
  base/files.h
  evaluate/alignment.h
  tensor/cuda.h
  tensor/step_graphs.h
  text/batches.h
  text/corpus.h
  text/lines.h
  text/vocabulary.h
  train/alignments.h
  train/objective.h
  train/recipe.h
  train/run_folder.h
  train/schedule.h
  train/trainer.h
  train/training_text.h

  # Write a model: tensors, the tape, operations, layers, attention.
  base/random.h
  tensor/arena.h
  tensor/device.h
  tensor/dtype.h
  tensor/memory.h
  tensor/shape.h
  tensor/tensor.h
  kernels/kernels.h
  autograd/tape.h
  autograd/var.h
  ops/ops.h
  nn/layers.h
  nn/parameters.h
  nn/recurrent.h
  attention/attention.h
  attention/config.h
  attention/registry.h
  models/config.h
  models/model.h
  train/optimiser.h)

# Inside the project a header is included as "tensor/shape.h", with src/ on the path. Outside there is only one name for
# it, <fovea/tensor/shape.h>: the build folder has copies that include each other by that name.
set(public_folder "${PROJECT_BINARY_DIR}/include/fovea")
file(GLOB_RECURSE stale_headers RELATIVE "${public_folder}" "${public_folder}/*.h")
set(all_headers "// All public headers of Fovea.\n#pragma once\n\n")
foreach(header IN LISTS public_headers)
  file(READ "${PROJECT_SOURCE_DIR}/src/${header}" text)
  string(REGEX MATCHALL "#include \"[^\"]+\"" includes "${text}")
  foreach(include IN LISTS includes)
    string(REGEX REPLACE "#include \"(.*)\"" "\\1" included "${include}")
    if(NOT included IN_LIST public_headers)
      message(FATAL_ERROR "src/${header} is public and includes ${included}, which is not: "
        "include it from a .cpp file instead, or add it to cmake/public_headers.cmake")
    endif()
  endforeach()
  string(REGEX REPLACE "#include \"([^\"]+)\"" "#include <fovea/\\1>" text "${text}")
  file(CONFIGURE OUTPUT "${public_folder}/${header}" CONTENT "${text}" @ONLY)
  string(APPEND all_headers "#include <fovea/${header}>\n")
endforeach()
file(CONFIGURE OUTPUT "${public_folder}/fovea.h" CONTENT "${all_headers}" @ONLY)
list(REMOVE_ITEM stale_headers ${public_headers} fovea.h)
foreach(header IN LISTS stale_headers)
  file(REMOVE "${public_folder}/${header}")
endforeach()
list(TRANSFORM public_headers PREPEND src/ OUTPUT_VARIABLE public_sources)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${public_sources})
