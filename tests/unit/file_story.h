/* SPDX-License-Identifier: Apache-2.0 */
/* What stories of the file engine on its bench share: a place of their own,
 * system calls that fail, and processes that are killed. */
#ifndef HF_TESTS_UNIT_FILE_STORY_H
#define HF_TESTS_UNIT_FILE_STORY_H

#include <stdbool.h>
#include <sys/types.h>

/* A story among others: the bench begins before it and finishes after it. */
#define TEST(name)                                                             \
    cmocka_unit_test_setup_teardown(name, story_begin, story_finish)
int story_begin(void **state);
int story_finish(void **state);

/* Of the engine's system calls from now on the ${nth}, from 1, fails with
 * ${error}, or kills the process before it is made. */
void story_fail_call(unsigned nth, int error);
void story_die_at_call(unsigned nth);
/* None fails any more.  Has one? */
bool story_call_failed(void);

/* What is in the directory, dot files and all; nothing if it is not there. */
unsigned story_files(const char *path);
/* How many descriptors this process has open. */
unsigned story_descriptors(void);

/* A process in which ${come} returned, and that waits to be killed. */
pid_t story_victim_start(void (*come)(void *arg), void *arg);
void story_victim_kill(pid_t pid);

#endif
