/* SPDX-License-Identifier: Apache-2.0 */
/* See process_tree.h. */
#include "cli/process_tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"

/* Set once by hf_process_tree_open(), before there are threads: the kernel has
 * no file of children, so scan. */
static bool must_scan;

/* ------------------------------------------------- the file of children -- */

/* Add the pids in ${text}, "PID PID ... ", as children of ${parent}.  A number
 * that is not followed by a blank may be cut; it is moved to the beginning of
 * ${text} and ${bytes} is set to its length, so that the next read() completes
 * it.  False if there is no memory. */
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

/* Add the children of one thread; ${tasks} is /proc/PID/task, ${thread} the
 * name in it.  False if the file could not be read to its end. */
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

/* Add the children of all threads of ${parent}. */
static bool read_children(pid_t parent, struct hf_process_list *list)
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

/* ------------------------------------------------------------ the scan -- */

/* Add ${pid} with its parent.  A process that is gone meanwhile, or hidden
 * from us, is nobody's child as far as we can see.  False if there is no
 * memory, or /proc fails in another way. */
static bool add_with_parent(pid_t pid, struct hf_process_list *list)
{
    struct hf_process process = {pid, hf_process_parent(pid)};

    if (process.parent == 0)
        return errno == 0 || errno == ESRCH || errno == EPERM ||
               errno == EACCES;
    return hf_process_list_add(list, process);
}

/* Add every process there is.  A child of ours that lives during the whole scan
 * is found, because readdir() of /proc goes by pid. */
static bool read_all(struct hf_process_list *list)
{
    struct dirent *entry;
    bool complete = true;
    DIR *proc = opendir("/proc");

    if (!proc)
        return false;
    while (complete && (entry = readdir(proc)))
        if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9')
            complete =
                add_with_parent((pid_t)strtol(entry->d_name, NULL, 10), list);
    closedir(proc);
    return complete;
}

/* For qsort(): by parent. */
static int compare_parents(const void *a, const void *b)
{
    pid_t one = ((const struct hf_process *)a)->parent;
    pid_t other = ((const struct hf_process *)b)->parent;

    return (one > other) - (one < other);
}

/* Index of the first process in ${all}, which is sorted by parent, whose
 * parent is ${parent} or greater: a binary search. */
static size_t first_child(const struct hf_process_list *all, pid_t parent)
{
    size_t low = 0, high = all->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (all->items[middle].parent < parent)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Add the children of ${parent} that are in ${all} to ${list}. */
static bool add_children(const struct hf_process_list *all, pid_t parent,
                         struct hf_process_list *list)
{
    for (size_t i = first_child(all, parent);
         i < all->count && all->items[i].parent == parent; i++)
        if (!hf_process_list_add(list, all->items[i]))
            return false;
    return true;
}

/* Scan /proc and sort by parent.  False if the scan is not complete. */
static bool read_sorted(struct hf_process_list *all)
{
    bool complete = read_all(all);

    if (all->count > 0)
        qsort(all->items, all->count, sizeof *all->items, compare_parents);
    return complete;
}

/* The children of ${parent}, from a scan of all of /proc. */
static bool scan_children(pid_t parent, struct hf_process_list *list)
{
    struct hf_process_list all = {0};
    bool complete = read_sorted(&all);

    complete = add_children(&all, parent, list) && complete;
    hf_process_list_free(&all);
    return complete;
}

/* Breadth first: what is added to ${list} is visited later in the same loop. */
static void scan_descendants(struct hf_process_list *list, size_t most)
{
    struct hf_process_list all = {0};

    (void)read_sorted(&all); /* an incomplete scan is better than none */
    for (size_t i = 0; i < list->count && list->count <= most; i++)
        if (!add_children(&all, list->items[i].pid, list))
            break;
    hf_process_list_free(&all);
}

/* ---------------------------------------------------------------- both -- */

bool hf_process_children(pid_t parent, struct hf_process_list *list)
{
    return must_scan ? scan_children(parent, list)
                     : read_children(parent, list);
}

void hf_process_descendants(struct hf_process_list *list, size_t most)
{
    if (must_scan) {
        scan_descendants(list, most);
        return;
    }
    for (size_t i = 0; i < list->count && list->count <= most; i++)
        if (!read_children(list->items[i].pid, list))
            return;
}

/* ---------------------------------------------------------------- open -- */

/* Is /proc there, and of our own pid namespace?  In that of another namespace
 * our pids are those of other processes. */
static hf_status check_proc(struct hf_error *error)
{
    char text[32] = "";

    if (readlink("/proc/self", text, sizeof text - 1) < 0)
        return hf_error_set(error, HF_EUNSUPPORTED,
                            "cannot see /proc, which is needed to find the "
                            "processes that a command leaves behind: %s; mount "
                            "it",
                            hf_errno_text(errno));
    if (strtol(text, NULL, 10) == (long)getpid())
        return HF_OK;
    return hf_error_set(error, HF_EUNSUPPORTED,
                        "/proc is that of another pid namespace: this is "
                        "process %d, there it is %s; mount one of this "
                        "namespace (mount -t proc proc /proc), which is needed "
                        "to find the processes that a command leaves behind",
                        (int)getpid(), text);
}

/* Does this kernel have /proc/PID/task/TID/children? */
static bool has_file_of_children(void)
{
    char path[64];
    int fd;

    snprintf(path, sizeof path, "/proc/self/task/%d/children", (int)getpid());
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    close(fd);
    return true;
}

/* Does a scan find ${child}, a child of ours? */
static bool scan_finds(pid_t child)
{
    struct hf_process_list list = {0};
    bool found =
        scan_children(getpid(), &list) && hf_process_list_has(&list, child);

    hf_process_list_free(&list);
    return found;
}

/* The child of try_scan(): sleep until it is killed. */
static _Noreturn void wait_to_be_found(pid_t parent)
{
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent)
        _exit(0);
    for (;;)
        pause();
}

/* Fork a child and see whether a scan finds it.  There is no other way to know
 * what hidepid= and the like hide from us. */
static hf_status try_scan(struct hf_error *error)
{
    pid_t parent = getpid(), child = fork();
    bool found;

    if (child == 0)
        wait_to_be_found(parent);
    if (child < 0)
        return hf_error_set(error, HF_ELIMIT, "cannot start a process: %s",
                            hf_errno_text(errno));
    found = scan_finds(child);
    kill(child, SIGKILL);
    while (waitpid(child, NULL, __WALL) < 0 && errno == EINTR)
        continue;
    if (found)
        return HF_OK;
    return hf_error_set(
        error, HF_EUNSUPPORTED,
        "/proc does not show which processes a command leaves "
        "behind: this kernel has no /proc/PID/task/TID/children "
        "(CONFIG_PROC_CHILDREN), and /proc/PID/stat of a child "
        "is hidden; mount /proc without hidepid=");
}

hf_status hf_process_tree_open(struct hf_error *error)
{
    hf_status status = check_proc(error);

    if (status != HF_OK || has_file_of_children())
        return status;
    must_scan = true;
    return try_scan(error);
}
