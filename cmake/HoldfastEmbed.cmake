# SPDX-License-Identifier: Apache-2.0

# hf_embed(SYMBOL HEADER file...): SYMBOL.c in the build defines the text of the
# files, one behind the other, as HEADER declares it.
function(hf_embed symbol header)
  set(output ${CMAKE_CURRENT_BINARY_DIR}/${symbol}.c)
  set(script ${PROJECT_SOURCE_DIR}/cmake/embed.cmake)
  add_custom_command(
    OUTPUT ${output}
    COMMAND ${CMAKE_COMMAND} -DSYMBOL=${symbol} -DHEADER=${header}
            -DOUTPUT=${output} "-DINPUT=${ARGN}" -P ${script}
    DEPENDS ${ARGN} ${script}
    VERBATIM)
endfunction()
