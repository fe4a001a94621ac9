/* SPDX-License-Identifier: Apache-2.0 */
/* See process.h.  Reads /proc/PID/stat (proc(5)). */
#include "cli/process.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/memory.h"

/* hf_process_under_job_control() looks this far up: a shell is a few steps
 * away. */
#define HF_ANCESTORS_MAX 64

/* hf_process_is_ancestor() looks this far up.  A nested run is two steps, and
 * its command one or more. */
#define HF_ANCESTORS_SEARCHED 256

/* The numbers of these fields of /proc/PID/stat, as proc(5) counts them. */
#define HF_STAT_FIELD_PARENT 4
#define HF_STAT_FIELD_STARTED 22

/* The fields of /proc/PID/stat that are used. */
struct process_stat {
    char state; /* 'R', 'S', 'T' and so on */
    int parent;
    unsigned long long started; /* in clock ticks since the boot */
};

void hf_process_list_free(struct hf_process_list *list)
{
    hf_free(list->items);
    *list = (struct hf_process_list){0};
}

bool hf_process_list_has(const struct hf_process_list *list, pid_t pid)
{
    for (size_t i = 0; i < list->count; i++)
        if (list->items[i].pid == pid)
            return true;
    return false;
}

void hf_process_list_remove(struct hf_process_list *list, pid_t pid)
{
    size_t kept = 0;

    for (size_t i = 0; i < list->count; i++)
        if (list->items[i].pid != pid)
            list->items[kept++] = list->items[i];
    list->count = kept;
}

bool hf_process_list_add(struct hf_process_list *list,
                         struct hf_process process)
{
    if (list->count == list->room) {
        size_t room = list->room ? 2 * list->room : 32;
        void *items = hf_realloc(list->items, room * sizeof *list->items);

        if (!items)
            return false;
        list->items = items;
        list->room = room;
    }
    list->items[list->count++] = process;
    return true;
}

/* Read the number at ${*at} into ${value}, and move ${*at} behind it.  False if
 * there is no number. */
static bool read_number(const char **at, unsigned long long *value)
{
    char *end;

    *value = strtoull(*at, &end, 10);
    if (end == *at)
        return false;
    *at = end;
    return true;
}

/* ${line} is "PID (NAME) STATE PARENT ...".  NAME may contain anything, ')' and
 * spaces too, so look for the last ')'.  The start is the 22nd field.  Not by
 * sscanf(), because the first one in a process is slow. */
static bool parse_stat(const char *line, struct process_stat *stat)
{
    const char *at = strrchr(line, ')');
    unsigned long long fields[HF_STAT_FIELD_STARTED + 1];

    if (!at || at[1] != ' ' || at[2] == '\0')
        return false;
    stat->state = at[2];
    at += 3;
    for (size_t i = HF_STAT_FIELD_PARENT; i <= HF_STAT_FIELD_STARTED; i++)
        if (!read_number(&at, &fields[i]))
            return false;
    stat->parent = (int)fields[HF_STAT_FIELD_PARENT];
    stat->started = fields[HF_STAT_FIELD_STARTED];
    return true;
}

/* False with errno. */
static bool read_stat(pid_t pid, struct process_stat *stat)
{
    char path[64], line[512];
    ssize_t got;
    int fd;

    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        errno = errno == ENOENT ? ESRCH : errno;
        return false;
    }
    got = read(fd, line, sizeof line - 1);
    close(fd);
    if (got <= 0)
        return false; /* ESRCH: it was reaped meanwhile */
    line[got] = '\0';
    errno = 0;
    return parse_stat(line, stat);
}

pid_t hf_process_parent(pid_t pid)
{
    struct process_stat stat;

    return read_stat(pid, &stat) ? (pid_t)stat.parent : 0;
}

/* A process that hidepid= hides from /proc has not ended: kill() finds it, and
 * fails with EPERM at most. */
bool hf_process_has_ended(pid_t pid)
{
    struct process_stat stat;

    if (read_stat(pid, &stat))
        return stat.state == 'Z' || stat.state == 'X';
    return kill(pid, 0) != 0 && errno == ESRCH;
}

bool hf_process_is_stopped(pid_t pid)
{
    struct process_stat stat;

    return read_stat(pid, &stat) && stat.state == 'T';
}

uint64_t hf_process_started(pid_t pid)
{
    struct process_stat stat;

    return read_stat(pid, &stat) ? stat.started : 0;
}

bool hf_process_is_ancestor(pid_t pid, uint64_t started)
{
    pid_t parent = getppid();

    for (int i = 0; i < HF_ANCESTORS_SEARCHED && parent > 0; i++) {
        if (parent == pid)
            return started != 0 && hf_process_started(pid) == started;
        parent = hf_process_parent(parent);
    }
    return false;
}

bool hf_process_has_timer(void)
{
    struct itimerval timer;

    return getitimer(ITIMER_REAL, &timer) != 0 || timer.it_value.tv_sec != 0 ||
           timer.it_value.tv_usec != 0;
}

void hf_process_signal(const struct hf_process *process, int number)
{
    int handle;

    if (process->parent == getpid()) {
        kill(process->pid, number);
        return;
    }
    /* Open the pidfd first.  If the pid still has the same parent after that,
     * the pidfd is of the process that was found. */
    handle = (int)syscall(SYS_pidfd_open, process->pid, 0);
    if (handle < 0)
        return;
    if (hf_process_parent(process->pid) == process->parent)
        syscall(SYS_pidfd_send_signal, handle, number, NULL, 0);
    close(handle);
}

bool hf_process_under_job_control(void)
{
    pid_t group = getpgrp(), session = getsid(0), parent = getppid();

    for (int i = 0; i < HF_ANCESTORS_MAX && parent > 0; i++) {
        if (getsid(parent) == session && getpgid(parent) != group)
            return true;
        parent = hf_process_parent(parent);
    }
    return false;
}

/* By the system call, because musl has no function for it. */
void hf_process_run_before_others(void)
{
    struct sched_param lowest = {.sched_priority = 1};

    (void)syscall(SYS_sched_setscheduler, 0, SCHED_RR | SCHED_RESET_ON_FORK,
                  &lowest);
}
