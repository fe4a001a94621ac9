# SPDX-License-Identifier: Apache-2.0
# The CMakeLists.txt of a project that uses the installed library.
cmake_minimum_required(VERSION 3.22)
project(consumer LANGUAGES C)
find_package(holdfast 0.1 REQUIRED COMPONENTS static)
add_executable(with-shared program.c)
target_link_libraries(with-shared PRIVATE holdfast::holdfast)
add_executable(with-static program.c)
target_link_libraries(with-static PRIVATE holdfast::holdfast_static)
