# SPDX-License-Identifier: Apache-2.0
# What "cmake --install" puts where of the library: all of it, or one component
# ("cmake --install build --component runtime"):
#
#   runtime    the shared library
#   dev        what it takes to compile and link: headers, the archive, files for
#              pkg-config and CMake, the manual of the library
#   engine-redis, engine-postgresql, engine-etcd, transport-tls, transport-sasl
#              the module of that name, if it was built
#   tools      the commands, their manual and completion: HoldfastInstallTools
#   python     the package for Python: python/CMakeLists.txt
#   doc        documents, examples, the licence: there, too
#
# Another project that this is a part of may have components of the same names,
# so ours begin with "holdfast-" there.  tests/install tries all of it.
include(CMakePackageConfigHelpers)
set(HF_COMPONENT "")
if(NOT PROJECT_IS_TOP_LEVEL)
  set(HF_COMPONENT holdfast-)
endif()

install(DIRECTORY include/holdfast DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
        COMPONENT ${HF_COMPONENT}dev FILES_MATCHING PATTERN "*.h" PATTERN "*.hpp")
install(TARGETS holdfast_shared EXPORT holdfast-shared
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
                COMPONENT ${HF_COMPONENT}runtime
                NAMELINK_COMPONENT ${HF_COMPONENT}dev)
install(TARGETS holdfast_static EXPORT holdfast-static
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
                COMPONENT ${HF_COMPONENT}dev)
foreach(module IN ITEMS transport-tls transport-sasl engine-redis
                     engine-postgresql engine-etcd)
  if(TARGET ${module})
    install(TARGETS ${module}
            LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/${HF_MODULES}
                    COMPONENT ${HF_COMPONENT}${module})
  endif()
endforeach()

# What pkg-config says follows the files when they are installed elsewhere
# (--prefix, DESTDIR), unless the directories were given as absolute paths.
set(HF_PC_PREFIX ${CMAKE_INSTALL_PREFIX})
set(HF_PC_LIBDIR ${CMAKE_INSTALL_FULL_LIBDIR})
set(HF_PC_INCLUDEDIR ${CMAKE_INSTALL_FULL_INCLUDEDIR})
if(NOT IS_ABSOLUTE "${CMAKE_INSTALL_LIBDIR}" AND
   NOT IS_ABSOLUTE "${CMAKE_INSTALL_INCLUDEDIR}")
  file(RELATIVE_PATH up /p/${CMAKE_INSTALL_LIBDIR}/pkgconfig /p)
  string(REGEX REPLACE "/$" "" up "${up}")
  set(HF_PC_PREFIX "\${pcfiledir}/${up}")
  set(HF_PC_LIBDIR "\${prefix}/${CMAKE_INSTALL_LIBDIR}")
  set(HF_PC_INCLUDEDIR "\${prefix}/${CMAKE_INSTALL_INCLUDEDIR}")
endif()
configure_file(packaging/holdfast.pc.in holdfast.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/holdfast.pc
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig
        COMPONENT ${HF_COMPONENT}dev)

# Two export sets: only who asks for the static library needs libuv's
# development files.
set(HF_PACKAGE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/holdfast)
configure_package_config_file(packaging/holdfast-config.cmake.in
  holdfast-config.cmake INSTALL_DESTINATION ${HF_PACKAGE_DIR})
# Until 1.0 a minor version may break the ABI: see version.h.
if(PROJECT_VERSION_MAJOR EQUAL 0)
  set(HF_COMPATIBILITY SameMinorVersion)
else()
  set(HF_COMPATIBILITY SameMajorVersion)
endif()
write_basic_package_version_file(
  ${CMAKE_CURRENT_BINARY_DIR}/holdfast-config-version.cmake
  COMPATIBILITY ${HF_COMPATIBILITY})
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/holdfast-config.cmake
              ${CMAKE_CURRENT_BINARY_DIR}/holdfast-config-version.cmake
        DESTINATION ${HF_PACKAGE_DIR} COMPONENT ${HF_COMPONENT}dev)
install(EXPORT holdfast-shared NAMESPACE holdfast::
        DESTINATION ${HF_PACKAGE_DIR} COMPONENT ${HF_COMPONENT}dev)
install(EXPORT holdfast-static NAMESPACE holdfast::
        DESTINATION ${HF_PACKAGE_DIR} COMPONENT ${HF_COMPONENT}dev)
