/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HF_REQUEST_DESCRIBE: give a ticket of this session another payload.  A rename
 * puts it in the place of the old one, so that a reader finds the one or the
 * other.
 *
 * No lock is needed, because only the owner writes its payload, and a session
 * that evicts the ticket (eviction.c): either text is whole.  If the process
 * ends between the two steps, the file that it leaves is removed by the next
 * enqueue in that directory (hf_file_listing_remove_orphans()).
 */
#include <errno.h>
#include <fcntl.h>

#include "base/error.h"
#include "engines/file/answer.h"
#include "engines/file/engine.h"
#include "engines/file/own_tickets.h"
#include "engines/file/requests.h"
#include "engines/file/syscalls.h"

#define DIR_FLAGS (O_RDONLY | O_DIRECTORY | O_NOFOLLOW)

/* How often somebody may remove the new payload as an orphan before it is
 * renamed. */
#define TRIES 8

/* An empty payload is none, because a symbolic link cannot be empty. */
static int remove_payload(int dir, const char *file)
{
    return hf_file_sys_unlinkat(dir, file) == 0 || errno == ENOENT ? 0 : -1;
}

/* Try once.  A file that an earlier attempt has left is removed first. */
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

/* Replace the payload of ${ticket} in ${dir}.  0, or -1 with errno. */
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
    /* ENOENT: another enqueue has removed it in between, or the directory is
     * gone. */
    errno = ENOENT;
    for (unsigned try = 0; rc != 0 && errno == ENOENT && try < TRIES; try++)
        rc = rename_payload(dir, payload, new_file, file);
    return rc;
}

hf_status hf_file_write_payload(struct hf_engine *engine, const char *dir_name,
                                const struct hf_ticket *ticket,
                                const char *payload, struct hf_error *error)
{
    char path[HF_PATH_BYTES];
    hf_status status = HF_OK;
    int dir;

    hf_file_root_settings_path(&engine->settings, dir_name, NULL, path);
    dir = hf_file_sys_open(path, DIR_FLAGS, 0);
    if (dir < 0 || !hf_file_descriptors_add(&engine->descriptors, dir))
        return hf_file_error_set_errno(error, "open", path);
    if (replace_payload(dir, ticket, payload) != 0)
        status = hf_file_error_set_errno(error, "write a payload in", path);
    hf_file_descriptors_close(&engine->descriptors, &dir);
    return status;
}

void hf_file_describe(struct hf_engine *engine, struct hf_request *request)
{
    struct hf_file_ticket *own_ticket =
        hf_file_own_ticket(engine, &request->ticket);
    bool found =
        own_ticket != NULL && hf_file_ticket_is_present(engine, own_ticket);
    struct hf_error error;

    if (found &&
        hf_file_write_payload(engine, own_ticket->dir_name, &own_ticket->ticket,
                              request->payload, &error) != HF_OK)
        hf_file_fail_by_status(engine, request, &error);
    else
        hf_file_answer_found(engine, request, HF_EVENT_DESCRIBED, found);
}
