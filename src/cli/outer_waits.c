/* SPDX-License-Identifier: Apache-2.0 */
/* See outer_waits.h.  All of it is read from /proc (proc(5)). */
#include "cli/outer_waits.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "cli/held_locks.h"
#include "cli/process_tree.h"

/* Shells between a run and the next one inside of it: forks of the first. */
#define SHELLS_MAX 8

/* A longer command line counts as one that cannot be read. */
#define COMMAND_LINE_MAX 65536

/* Read /proc/PID/NAME to ${text}, which ends with a NUL.  Returns how many
 * bytes were read; 0 if it cannot be read or may be longer than ${bytes}. */
static size_t read_file(pid_t pid, const char *name, char *text, size_t bytes)
{
    char path[64];
    size_t used = 0;
    ssize_t got;
    int fd;

    (void)snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, name);
    if ((fd = open(path, O_RDONLY | O_CLOEXEC)) < 0)
        return 0;
    while (used < bytes - 1 &&
           (got = read(fd, text + used, bytes - 1 - used)) > 0)
        used += (size_t)got;
    close(fd);
    if (used == bytes - 1)
        used = 0;
    text[used] = '\0';
    return used;
}

/* Is ${child} the only child of ${parent}?  A child that has ended and was not
 * reaped counts, because it wakes the parent. */
static bool is_only_child(pid_t child, pid_t parent)
{
    struct hf_process_list children = {0};
    bool only = hf_process_children(parent, &children) && children.count == 1 &&
                children.items[0].pid == child;

    hf_process_list_free(&children);
    return only;
}

/* -------------------------------------------------------------- a shell -- */

/* Is the program of ${pid} one of the shells that never set a timer? */
static bool is_known_shell(pid_t pid)
{
    char path[64], target[1024];
    const char *name;
    ssize_t bytes;

    (void)snprintf(path, sizeof path, "/proc/%d/exe", (int)pid);
    bytes = readlink(path, target, sizeof target - 1);
    if (bytes <= 0)
        return false;
    target[bytes] = '\0';
    name = strrchr(target, '/');
    return name != NULL &&
           (strcmp(name, "/bash") == 0 || strcmp(name, "/dash") == 0);
}

/* Set ${switches} to how often ${pid}, which must have one thread, has given up
 * the processor or lost it.  False if that cannot be seen. */
static bool read_switches(pid_t pid, unsigned long switches[2])
{
    char text[8192];
    const char *threads, *voluntary, *others;

    if (read_file(pid, "status", text, sizeof text) == 0)
        return false;
    threads = strstr(text, "\nThreads:\t1\n");
    voluntary = strstr(text, "\nvoluntary_ctxt_switches:");
    others = strstr(text, "\nnonvoluntary_ctxt_switches:");
    return threads != NULL && voluntary != NULL && others != NULL &&
           sscanf(voluntary, "%*s %lu", &switches[0]) == 1 &&
           sscanf(others, "%*s %lu", &switches[1]) == 1;
}

/* Is ${pid} in the middle of wait4(2) or waitid(2)?  Neither has a timeout. */
static bool is_in_wait(pid_t pid)
{
    char function[64];

    return read_file(pid, "wchan", function, sizeof function) > 0 &&
           strcmp(function, "do_wait") == 0;
}

/* Is ${shell} blocked until ${child} ends?  It has not run between the two
 * looks, so it was blocked while its children were read. */
static bool is_blocked(pid_t shell, pid_t child)
{
    unsigned long before[2], after[2];

    return read_switches(shell, before) && is_in_wait(shell) &&
           is_only_child(child, shell) && is_in_wait(shell) &&
           read_switches(shell, after) && before[0] == after[0] &&
           before[1] == after[1];
}

/* -------------------------------------------------------- command lines -- */

/* The last ${count} words of the ${bytes} in ${line}, where each word ends with
 * a NUL; NULL: there are fewer.  Sets ${more} to how many are before them. */
static const char *last_words(const char *line, size_t bytes, uint32_t count,
                              uint32_t *more)
{
    const char *found = NULL;

    *more = 0;
    for (size_t i = bytes; i > 0; i--) {
        bool begins = i == 1 || line[i - 2] == '\0';

        if (begins && count > 0 && --count == 0)
            found = line + i - 1;
        else if (begins && found != NULL)
            ++*more;
    }
    return found;
}

/* Do the command lines of ${shell} and ${supervisor} end with the same ${words}
 * words, with at most two before them in ${shell}'s: of a script, its shell and
 * one option?  The kernel replaces a script's name by its path, so one that was
 * found by PATH is not recognised.  ${lines} has room for both. */
static bool is_command(pid_t shell, pid_t supervisor, uint32_t words,
                       char *lines)
{
    char *ours = lines, *theirs = lines + COMMAND_LINE_MAX;
    size_t our_bytes = read_file(shell, "cmdline", ours, COMMAND_LINE_MAX);
    size_t their_bytes =
        read_file(supervisor, "cmdline", theirs, COMMAND_LINE_MAX);
    uint32_t ahead, options;
    const char *is = last_words(ours, our_bytes, words, &ahead);
    const char *was = last_words(theirs, their_bytes, words, &options);
    size_t bytes;

    if (is == NULL || was == NULL || ahead > 2)
        return false;
    bytes = our_bytes - (size_t)(is - ours);
    return bytes == their_bytes - (size_t)(was - theirs) &&
           memcmp(is, was, bytes) == 0;
}

/* Is ${shell} one that can only wait for ${child}? */
static bool is_waiting_shell(pid_t shell, pid_t child, pid_t supervisor,
                             uint32_t words)
{
    char *lines = hf_alloc((size_t)2 * COMMAND_LINE_MAX);
    bool waits = lines != NULL && is_known_shell(shell) &&
                 is_command(shell, supervisor, words, lines) &&
                 is_blocked(shell, child);

    hf_free(lines);
    return waits;
}

/* ------------------------------------------------------------- the line -- */

/* The line of processes from a run up to the one around it. */
struct line {
    pid_t shells[SHELLS_MAX];
    size_t count;
    struct hf_held_lock outer; /* of the run around; its supervisor */
};

/* Find the line upwards from the launcher ${pid}.  False: it does not lead to a
 * run, or there are too many shells in between. */
static bool find_line(struct line *line, const char *text, pid_t pid)
{
    line->count = 0;
    while ((pid = hf_process_parent(pid)) > 1) {
        if (hf_held_locks_of_run(text, pid, &line->outer))
            return true;
        if (line->count == SHELLS_MAX)
            return false;
        line->shells[line->count++] = pid;
    }
    return false;
}

/* Can no process in ${line} go on before the run of ${launcher} has ended? */
static bool is_stuck(const struct line *line, pid_t launcher)
{
    pid_t child = launcher;

    if (line->outer.words == 0)
        return false;
    for (size_t i = 0; i < line->count; i++) {
        if (!is_waiting_shell(line->shells[i], child, line->outer.pid,
                              line->outer.words))
            return false;
        child = line->shells[i];
    }
    return is_only_child(child, line->outer.pid);
}

void hf_outer_waits_find(struct hf_outer_waits *waits, const char *text,
                         pid_t waited_for)
{
    pid_t inside = getpid(), launcher = waited_for;
    struct line line;

    waits->count = 0;
    while (waits->count < HF_OUTER_WAITS_MAX && launcher > 1 &&
           (inside == launcher || is_only_child(inside, launcher)) &&
           find_line(&line, text, launcher) && is_stuck(&line, launcher)) {
        inside = line.outer.pid;
        waits->supervisors[waits->count++] = inside;
        launcher = hf_process_parent(inside);
    }
}

bool hf_outer_waits_have(const struct hf_outer_waits *waits, pid_t pid)
{
    for (size_t i = 0; i < waits->count; i++)
        if (waits->supervisors[i] == pid)
            return true;
    return false;
}
