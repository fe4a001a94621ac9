/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/process.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/memory.h"

/* How far up job control is looked for; a shell is a few steps away. */
#define HF_ANCESTORS_MAX 64

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

/* Take the numbers of "PID PID ... " out of ${text}; what follows the last
 * blank may go on in the next piece, and is moved to the front.  False if
 * there is no memory. */
static bool take_numbers(char *text, size_t *bytes, pid_t parent,
                         struct hf_process_list *list)
{
    char *at = text, *blank;

    text[*bytes] = '\0';
    while ((blank = strchr(at, ' '))) {
        struct hf_process child = {(pid_t)strtol(at, NULL, 10), parent};

        if (!hf_process_list_add(list, child))
            return false;
        at = blank + 1;
    }
    *bytes -= (size_t)(at - text);
    memmove(text, at, *bytes);
    return true;
}

static bool thread_children(int tasks, const char *thread, pid_t parent,
                            struct hf_process_list *list)
{
    char path[64], text[4096];
    size_t bytes = 0;
    bool complete = true;
    ssize_t got;
    int fd;

    snprintf(path, sizeof path, "%.20s/children", thread);
    fd = openat(tasks, path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return errno == ENOENT; /* the thread has ended */
    while (complete &&
           (got = read(fd, text + bytes, sizeof text - 1 - bytes)) > 0) {
        bytes += (size_t)got;
        complete = take_numbers(text, &bytes, parent, list);
    }
    close(fd);
    return complete;
}

bool hf_process_children(pid_t parent, struct hf_process_list *list)
{
    char path[64];
    struct dirent *entry;
    bool complete = true;
    DIR *tasks;

    snprintf(path, sizeof path, "/proc/%d/task", (int)parent);
    tasks = opendir(path);
    if (!tasks)
        return parent != getpid() && errno == ENOENT;
    while (complete && (entry = readdir(tasks)))
        if (entry->d_name[0] != '.')
            complete =
                thread_children(dirfd(tasks), entry->d_name, parent, list);
    closedir(tasks);
    return complete;
}

/* "PID (NAME) STATE PARENT ...", where NAME may hold anything. */
static bool read_stat(pid_t pid, char *state, int *parent)
{
    char path[64], line[512];
    char *name_end;
    ssize_t got;
    int fd;

    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    got = read(fd, line, sizeof line - 1);
    close(fd);
    if (got <= 0)
        return false;
    line[got] = '\0';
    name_end = strrchr(line, ')');
    return name_end && sscanf(name_end, ") %c %d", state, parent) == 2;
}

pid_t hf_process_parent(pid_t pid)
{
    char state;
    int parent;

    return read_stat(pid, &state, &parent) ? (pid_t)parent : 0;
}

bool hf_process_is_stopped(pid_t pid)
{
    char state;
    int parent;

    return read_stat(pid, &state, &parent) && state == 'T';
}

void hf_process_signal(const struct hf_process *process, int number)
{
    int handle;

    if (process->parent == getpid()) {
        kill(process->pid, number);
        return;
    }
    /* The handle is taken first: if the number still belongs to a child of
     * the same parent afterwards, the handle is of one of the tree. */
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
        if (getsid(parent) != session)
            return false;
        if (getpgid(parent) != group)
            return true;
        parent = hf_process_parent(parent);
    }
    return false;
}
