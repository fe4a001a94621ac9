/* SPDX-License-Identifier: Apache-2.0 */
/* Set-up, faults and victims for tests of the file engine. */
#include "file_fixture.h"

#include <dirent.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "conformance/conformance_file.h"
#include "conformance/real_host.h"
#include "engines/file/syscalls.h"

int file_fixture_begin(void **state)
{
    (void)state;
    conformance_file.begin(&conformance_file);
    return 0;
}

int file_fixture_finish(void **state)
{
    (void)state;
    hf_file_sys_hook = NULL;
    conformance_file.finish(&conformance_file);
    return 0;
}

/* --------------------------------------------------------- system calls -- */

/* What the hook of engines/file/syscalls.h is to do. */
static struct {
    unsigned left; /* calls up to the one that is meant; 0: none */
    int error;     /* errno of that call */
    bool failed;   /* that call was made */
} fault;

static int fail_one(const char *request)
{
    (void)request;
    if (fault.left == 0 || --fault.left > 0)
        return 0;
    fault.failed = true;
    return fault.error;
}

static int die_at_one(const char *request)
{
    (void)request;
    if (--fault.left == 0)
        (void)raise(SIGKILL);
    return 0;
}

void fault_fail_call(unsigned nth, int error)
{
    fault.left = nth;
    fault.error = error;
    fault.failed = false;
    hf_file_sys_hook = fail_one;
}

void fault_die_at_call(unsigned nth)
{
    fault.left = nth;
    hf_file_sys_hook = die_at_one;
}

bool fault_call_failed(void)
{
    hf_file_sys_hook = NULL;
    return fault.failed;
}

/* ------------------------------------------------------- what is there -- */

unsigned count_files(const char *path)
{
    DIR *dir = opendir(path);
    unsigned count = 0;

    if (dir == NULL)
        return 0;
    while (readdir(dir) != NULL)
        count++;
    (void)closedir(dir);
    return count - 2;
}

unsigned count_descriptors(void)
{
    unsigned count = count_files("/proc/self/fd");

    assert_true(count > 0);
    return count;
}

/* -------------------------------------------------------------- victims -- */

/* What the forked process does. */
struct victim_task {
    void (*prepare)(void *arg);
    void *arg;
    int ready_pipe;
};

static void be_victim(void *arg)
{
    const struct victim_task *task = arg;

    (void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* should the test fail */
    task->prepare(task->arg);
    if (write(task->ready_pipe, "x", 1) != 1)
        _exit(1);
    for (;;)
        (void)pause();
}

pid_t victim_start_process(void (*prepare)(void *arg), void *arg)
{
    struct victim_task task = {.prepare = prepare, .arg = arg};
    int ready_pipe[2];
    char byte;
    pid_t pid;

    assert_int_equal(pipe(ready_pipe), 0);
    task.ready_pipe = ready_pipe[1];
    pid = real_host_fork(be_victim, &task);
    (void)close(ready_pipe[1]);
    assert_int_equal(read(ready_pipe[0], &byte, 1), 1);
    (void)close(ready_pipe[0]);
    return pid;
}

void victim_kill_process(pid_t pid)
{
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}
