/* SPDX-License-Identifier: Apache-2.0 */
/* What stories of the file engine on its bench share: a place of their own,
 * system calls that fail, and processes that are killed. */
#ifndef HF_TESTS_UNIT_FILE_FIXTURE_H
#define HF_TESTS_UNIT_FILE_FIXTURE_H

#include <stdbool.h>
#include <sys/types.h>

/* A story among others: the bench begins before it and finishes after it. */
#define FILE_TEST(name)                                                        \
    cmocka_unit_test_setup_teardown(name, file_fixture_begin,                  \
                                    file_fixture_finish)
int file_fixture_begin(void **state);
int file_fixture_finish(void **state);

/* Of the engine's system calls from now on the ${nth}, from 1, fails with
 * ${error}, or kills the process before it is made. */
void fault_fail_call(unsigned nth, int error);
void fault_die_at_call(unsigned nth);
/* None fails any more.  Has one? */
bool fault_call_failed(void);

/* What is in the directory, dot files and all; nothing if it is not there. */
unsigned count_files(const char *path);
/* How many descriptors this process has open. */
unsigned count_descriptors(void);

/* A process in which ${come} returned, and that waits to be killed. */
pid_t victim_start_process(void (*prepare)(void *arg), void *arg);
void victim_kill_process(pid_t pid);

#endif
