/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See ticket_file.h.  The owner of a ticket is alive while an flock() of the
 * FIFO is refused.
 */
#include "engines/file/ticket_file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>

#include "engines/file/syscalls.h"

#define WAITER_FLAGS (O_RDONLY | O_NONBLOCK | O_NOFOLLOW)

void hf_file_fifo_path(const struct hf_file_root_settings *settings,
                       const char *dir_name, const struct hf_ticket *ticket,
                       char path[HF_PATH_BYTES])
{
    char file[HF_TICKET_FILE_BYTES];

    hf_file_name_format(ticket, file);
    hf_file_root_settings_path(settings, dir_name, file, path);
}

enum hf_file_owner_liveness
hf_file_fifo_probe(struct hf_file_descriptors *descriptors, const char *path,
                   int *fifo, struct hf_error *error)
{
    int fd = hf_file_sys_open(path, WAITER_FLAGS, 0);
    enum hf_file_owner_liveness liveness = HF_OWNER_ALIVE;

    if (fifo != NULL)
        *fifo = -1;
    if (fd < 0 && errno == ENOENT)
        return HF_OWNER_DEAD;
    if (fd < 0 || !hf_file_descriptors_add(descriptors, fd)) {
        hf_file_error_set_errno(error, "open", path);
        return HF_OWNER_UNKNOWN;
    }
    if (hf_file_sys_flock(fd, LOCK_SH | LOCK_NB) == 0) {
        (void)hf_file_sys_flock(fd, LOCK_UN);
        liveness = HF_OWNER_DEAD;
    } else if (errno != EWOULDBLOCK) {
        hf_file_error_set_errno(error, "test", path);
        liveness = HF_OWNER_UNKNOWN;
    }
    if (liveness == HF_OWNER_ALIVE && fifo != NULL)
        *fifo = fd;
    else
        hf_file_descriptors_close(descriptors, &fd);
    return liveness;
}

int hf_file_fifo_prepare(const struct hf_file_root_settings *settings, int fd,
                         struct stat *status)
{
    if (hf_file_sys_fstat(fd, status) != 0)
        return -1;
    if (!settings->shared)
        return 0;
    if (!S_ISFIFO(status->st_mode) || status->st_nlink != 1) {
        errno = EPERM;
        return -1;
    }
    if (hf_file_sys_fchmod(fd, settings->file_mode) != 0)
        return -1;
    /* the change of the mode has changed one of its times */
    return hf_file_sys_fstat(fd, status);
}

hf_status hf_file_fifo_remove(const char *path, bool *found,
                              struct hf_error *error)
{
    *found = hf_file_sys_unlink(path) == 0;
    if (*found || errno == ENOENT)
        return HF_OK;
    return hf_file_error_set_errno(error, "remove", path);
}

void hf_file_payload_remove(const char *path)
{
    char payload_path[HF_PATH_BYTES];

    hf_file_payload_name_of(path, payload_path);
    (void)hf_file_sys_unlink(payload_path);
}

hf_status hf_file_fifo_and_payload_remove(const char *path, bool *found,
                                          struct hf_error *error)
{
    hf_status status = hf_file_fifo_remove(path, found, error);

    if (status == HF_OK)
        hf_file_payload_remove(path);
    return status;
}

/* ----------------------------------------------------- writing a payload -- */

/* How often the replacement of a payload is tried, because somebody may remove
 * the new payload as an orphan before it is renamed. */
#define TRIES 8

/* Remove the payload.  An empty payload is stored as no file, because a
 * symbolic link cannot be empty. */
static int remove_payload(int dir, const char *file)
{
    return hf_file_sys_unlinkat(dir, file) == 0 || errno == ENOENT ? 0 : -1;
}

/* Try the replacement once.  A file that an earlier attempt has left is removed
 * first. */
static int rename_payload(int dir, const char *payload, const char *new_file,
                          const char *file)
{
    int error;

    if (remove_payload(dir, new_file) != 0 ||
        hf_file_sys_symlinkat(payload, dir, new_file) != 0)
        return -1;
    if (hf_file_sys_renameat(dir, new_file, file) == 0)
        return 0;
    error = errno;
    (void)hf_file_sys_unlinkat(dir, new_file);
    errno = error;
    return -1;
}

/* Replace the payload of ${ticket} in ${dir}.  Returns 0, or -1 with errno. */
static int replace_payload(int dir, const struct hf_ticket *ticket,
                           const char *payload)
{
    char file[HF_PAYLOAD_FILE_BYTES];
    char new_file[HF_NEW_PAYLOAD_FILE_BYTES];
    int rc = -1;

    hf_file_payload_name_format(ticket, file);
    hf_file_new_payload_name_format(ticket, new_file);
    if (payload[0] == '\0')
        return remove_payload(dir, file);
    /* ENOENT means that an enqueue has removed the new payload, or that the
     * directory is gone. */
    errno = ENOENT;
    for (unsigned try = 0; rc != 0 && errno == ENOENT && try < TRIES; try++)
        rc = rename_payload(dir, payload, new_file, file);
    return rc;
}

hf_status hf_file_payload_write(const struct hf_file_root_settings *settings,
                                struct hf_file_descriptors *descriptors,
                                const char *dir_name,
                                const struct hf_ticket *ticket,
                                const char *payload, struct hf_error *error)
{
    char path[HF_PATH_BYTES];
    hf_status status = HF_OK;
    int dir;

    hf_file_root_settings_path(settings, dir_name, NULL, path);
    dir = hf_file_sys_open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
    if (dir < 0 || !hf_file_descriptors_add(descriptors, dir))
        return hf_file_error_set_errno(error, "open", path);
    if (replace_payload(dir, ticket, payload) != 0)
        status = hf_file_error_set_errno(error, "write a payload in", path);
    hf_file_descriptors_close(descriptors, &dir);
    return status;
}
