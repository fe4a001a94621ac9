# SPDX-License-Identifier: Apache-2.0
# A stranger's project, as its CMakeLists.txt.
cmake_minimum_required(VERSION 3.22)
project(stranger LANGUAGES C)
find_package(holdfast 0.1 REQUIRED COMPONENTS static)
add_executable(with-shared program.c)
target_link_libraries(with-shared PRIVATE holdfast::holdfast)
add_executable(with-static program.c)
target_link_libraries(with-static PRIVATE holdfast::holdfast_static)
