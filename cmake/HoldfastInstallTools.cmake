# SPDX-License-Identifier: Apache-2.0
# What "cmake --install" puts where besides the library (HoldfastInstall.cmake):
# the components tools and doc; and the target "uninstall".

install(TARGETS holdfast-cli-installed
        RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT tools)
install(TARGETS holdfast-torture-installed holdfast-zk-installed
        RUNTIME DESTINATION ${CMAKE_INSTALL_LIBEXECDIR}/holdfast COMPONENT tools)

# Documents lie as they do in the tree, because they link to each other; what is
# not installed they name instead.
find_package(Python3 COMPONENTS Interpreter)
if(Python3_FOUND)
  file(GLOB_RECURSE documents RELATIVE ${PROJECT_SOURCE_DIR} CONFIGURE_DEPENDS
       docs/* examples/*)
  list(FILTER documents EXCLUDE REGEX
       "^docs/man/|/CMakeLists.txt$|/test_|/__pycache__/")
  list(APPEND documents README.md CHANGELOG.md SECURITY.md AUTHORS LICENSE)
  set(HF_DOCUMENTS ${PROJECT_BINARY_DIR}/documents)
  file(RELATIVE_PATH headers ${CMAKE_INSTALL_FULL_DOCDIR}
       ${CMAKE_INSTALL_FULL_INCLUDEDIR})
  add_custom_command(
    OUTPUT ${HF_DOCUMENTS}.made
    COMMAND ${Python3_EXECUTABLE} -B
            ${PROJECT_SOURCE_DIR}/packaging/installed_documents.py
            ${PROJECT_SOURCE_DIR} ${HF_DOCUMENTS} ${headers} ${documents}
    COMMAND ${CMAKE_COMMAND} -E touch ${HF_DOCUMENTS}.made
    DEPENDS packaging/installed_documents.py ${documents}
    COMMENT "Writing the documents as they are installed"
    VERBATIM)
  add_custom_target(documents ALL DEPENDS ${HF_DOCUMENTS}.made)
  install(DIRECTORY ${HF_DOCUMENTS}/ DESTINATION ${CMAKE_INSTALL_DOCDIR}
          COMPONENT doc USE_SOURCE_PERMISSIONS)
else()
  message(STATUS "no Python: of the documents only the licence is installed")
  install(FILES AUTHORS LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR}
          COMPONENT doc)
endif()

add_custom_target(uninstall
  COMMAND ${CMAKE_COMMAND} -DBUILD=${PROJECT_BINARY_DIR}
          -P ${PROJECT_SOURCE_DIR}/cmake/uninstall.cmake
  USES_TERMINAL VERBATIM
  COMMENT "Removing what was installed from here")
