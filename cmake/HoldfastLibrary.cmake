# SPDX-License-Identifier: Apache-2.0
# libholdfast, shared and static, out of the objects of its parts.

set(HF_PARTS hf_base hf_core hf_thread hf_engine_loop hf_transport hf_engine_file
    hf_zookeeper
    hf_zookeeper_io hf_zk hf_engine_zookeeper hf_monitor hf_metrics hf_operation
    hf_client
    hf_zookeeper_retry hf_zookeeper_client hf_zookeeper_cache)
set(HF_PART_OBJECTS "")
foreach(part IN LISTS HF_PARTS)
  list(APPEND HF_PART_OBJECTS $<TARGET_OBJECTS:${part}>)
endforeach()
set(HF_MAP ${PROJECT_SOURCE_DIR}/src/holdfast.map)

# Not called "holdfast", which in build.ninja is the tool.
add_library(holdfast_shared SHARED ${HF_PART_OBJECTS})
add_library(holdfast::holdfast ALIAS holdfast_shared)
set_target_properties(holdfast_shared PROPERTIES
  OUTPUT_NAME holdfast
  EXPORT_NAME holdfast
  LIBRARY_OUTPUT_DIRECTORY ${HF_LIBRARY_BUILT}
  LINKER_LANGUAGE C
  VERSION ${PROJECT_VERSION}
  SOVERSION ${HF_SOVERSION}
  LINK_DEPENDS ${HF_MAP})
target_include_directories(holdfast_shared INTERFACE
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
  $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
target_link_libraries(holdfast_shared PRIVATE PkgConfig::LIBUV Threads::Threads
                      ${CMAKE_DL_LIBS})
# nodelete: threads of ours may still be on their way out when a program that
# had loaded us as a plugin unloads it.
target_link_options(holdfast_shared PRIVATE
  LINKER:--version-script=${HF_MAP} LINKER:-z,nodelete)
if(NOT HF_SANITIZE)
  target_link_options(holdfast_shared PRIVATE LINKER:-z,defs)
endif()

# All parts as one object whose hidden symbols are made local, so that a
# program that links the archive sees the public names only.  With -flto the
# parts are no machine code yet, and objcopy changes no names in what they are
# instead.  So this makes gcc compile them now.  clang's linkers do so anyway.
set(HF_WHOLE ${CMAKE_CURRENT_BINARY_DIR}/holdfast-whole.o)
separate_arguments(HF_WHOLE_FLAGS NATIVE_COMMAND "${CMAKE_C_FLAGS}")
if(CMAKE_C_COMPILER_ID STREQUAL "GNU")
  list(APPEND HF_WHOLE_FLAGS -flinker-output=nolto-rel)
endif()
add_custom_command(
  OUTPUT ${HF_WHOLE}
  COMMAND ${CMAKE_C_COMPILER} ${HF_WHOLE_FLAGS} -r -nostdlib -o ${HF_WHOLE}
          ${HF_PART_OBJECTS}
  COMMAND ${CMAKE_OBJCOPY} --localize-hidden ${HF_WHOLE}
  DEPENDS ${HF_PARTS} ${HF_PART_OBJECTS}
  COMMAND_EXPAND_LISTS VERBATIM
  COMMENT "Joining the parts of libholdfast.a")
add_library(holdfast_static STATIC ${HF_WHOLE})
add_library(holdfast::holdfast_static ALIAS holdfast_static)
set_source_files_properties(${HF_WHOLE} PROPERTIES
  EXTERNAL_OBJECT TRUE GENERATED TRUE)
set_target_properties(holdfast_static PROPERTIES
  LINKER_LANGUAGE C OUTPUT_NAME holdfast)
target_include_directories(holdfast_static INTERFACE
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
  $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
target_link_libraries(holdfast_static INTERFACE PkgConfig::LIBUV
                      Threads::Threads ${CMAKE_DL_LIBS})
