# SPDX-License-Identifier: Apache-2.0
# cmake -DBUILD=dir -P uninstall.cmake
# Remove the files that "cmake --install" of this build has listed, of each of
# its components; and directories of ours that are empty then.  As at the
# install, DESTDIR of the environment is in front of each name.
file(GLOB manifests ${BUILD}/install_manifest*.txt)
if(NOT manifests)
  message(FATAL_ERROR "nothing was installed from ${BUILD}: there is no "
                      "install_manifest.txt in it")
endif()
foreach(manifest IN LISTS manifests)
  file(STRINGS ${manifest} names)
  foreach(name IN LISTS names)
    set(file $ENV{DESTDIR}${name})
    if(EXISTS ${file} OR IS_SYMLINK ${file})
      message(STATUS "Removing ${file}")
      file(REMOVE ${file})
    endif()
    # Those that are called holdfast or, of modules, holdfast-VERSION, and what is
    # below them.
    get_filename_component(directory ${file} DIRECTORY)
    while(directory MATCHES "/holdfast(-[0-9.]+)?(/|$)" AND IS_DIRECTORY ${directory})
      file(GLOB left ${directory}/* ${directory}/.*)
      if(left)
        break()
      endif()
      file(REMOVE_RECURSE ${directory})
      get_filename_component(directory ${directory} DIRECTORY)
    endwhile()
  endforeach()
  file(REMOVE ${manifest})
endforeach()
