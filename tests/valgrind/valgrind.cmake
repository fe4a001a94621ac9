# SPDX-License-Identifier: Apache-2.0
# With HF_VALGRIND, test programs run under valgrind's memcheck: an error, or
# memory that nothing points to at the end, fails the test.  The servers beside
# them run as they are.  Tests that do run so have the label valgrind.
#
# VALGRIND_OPTS in the environment adds options, such as --track-origins=yes.
set(HF_VALGRIND_COMMAND "")
# How many times longer than elsewhere a test may take.
set(HF_TIMEOUT_FACTOR 1)
if(HF_VALGRIND)
  find_program(HF_VALGRIND_PROGRAM valgrind REQUIRED)
  # --fair-sched: valgrind runs one thread at a time, and one that waits must
  # not wait for seconds.
  set(HF_VALGRIND_COMMAND
    ${HF_VALGRIND_PROGRAM} --quiet --error-exitcode=99 --leak-check=full
    --show-leak-kinds=definite --errors-for-leak-kinds=definite
    --trace-children=yes --fair-sched=yes --num-callers=30
    --suppressions=${CMAKE_CURRENT_LIST_DIR}/libraries.supp)
  set(HF_TIMEOUT_FACTOR 10)
endif()

# hf_test_timeout(TEST SECONDS): what the test may take.
function(hf_test_timeout test seconds)
  math(EXPR seconds "${seconds} * ${HF_TIMEOUT_FACTOR}")
  set_tests_properties(${test} PROPERTIES TIMEOUT ${seconds})
endfunction()

# Label a test whose program runs under valgrind, if it does.
function(hf_label_valgrind test)
  if(HF_VALGRIND)
    set_property(TEST ${test} APPEND PROPERTY LABELS valgrind)
  endif()
endfunction()

# hf_valgrind_program(VARIABLE TARGET): the path of the program, for a test in
# Python that starts it; with HF_VALGRIND that of a script that runs it so.  The
# test may kill it, so that it ends with the first error.
function(hf_valgrind_program variable target)
  set(program $<TARGET_FILE:${target}>)
  if(HF_VALGRIND)
    set(script ${CMAKE_CURRENT_BINARY_DIR}/${target}-valgrind)
    list(JOIN HF_VALGRIND_COMMAND " " command)
    file(GENERATE OUTPUT ${script}
      CONTENT "#!/bin/sh\nexec ${command} --exit-on-first-error=yes '${program}' \"$@\"\n"
      FILE_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE)
    set(program ${script})
  endif()
  set(${variable} ${program} PARENT_SCOPE)
endfunction()
