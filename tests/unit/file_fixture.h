/* SPDX-License-Identifier: Apache-2.0 */
/* For tests of the file engine with the fixture of its conformance test
 * (conformance/conformance_file.h): an empty root for each test, a fault
 * injector for the system calls of the engine, and processes that are killed.
 */
#ifndef HF_TESTS_UNIT_FILE_FIXTURE_H
#define HF_TESTS_UNIT_FILE_FIXTURE_H

#include <stdbool.h>
#include <sys/types.h>

/* An entry of the table of tests: the root exists only during the test. */
#define FILE_TEST(name) TEST_WITH(name, file_fixture_begin, file_fixture_finish)
int file_fixture_begin(void **state);
int file_fixture_finish(void **state);

/* Of the calls that the engine makes through engines/file/syscalls.h from now
 * on, the ${nth}, counted from 1, fails with ${error}; or the process is killed
 * before that call. */
void fault_fail_call(unsigned nth, int error);
void fault_die_at_call(unsigned nth);
/* End the injection.  True if a call was made to fail. */
bool fault_call_failed(void);

/* Entries of a directory, hidden ones too; 0 if there is no directory. */
unsigned count_files(const char *path);
/* Open descriptors of this process, the one that counts among them. */
unsigned count_descriptors(void);

/* Fork a process that calls ${prepare} and then sleeps until it is killed.
 * Returns when ${prepare} has returned there; fails the test if the process
 * ends before.  The process dies with the test. */
pid_t victim_start_process(void (*prepare)(void *arg), void *arg);
void victim_kill_process(pid_t pid);

#endif
