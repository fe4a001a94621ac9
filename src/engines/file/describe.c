/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DESCRIBE: another payload in the place of the ticket's own, by a rename, so
 * that a reader finds the one or the other.
 *
 * No lock is needed, because only the owner writes it, and it is nobody's
 * ticket.  What a process leaves behind that ends between the two steps is
 * removed by the next sweep of the directory.
 */
#include <errno.h>
#include <fcntl.h>

#include "core/error.h"
#include "engines/file/engine.h"
#include "engines/file/sys.h"
#include "engines/file/trouble.h"

#define DIR_FLAGS (O_RDONLY | O_DIRECTORY | O_NOFOLLOW)
#define TRIES 8

/* A symlink cannot say nothing. */
static int remove_payload(int dir, const char *file)
{
    return hf_sys_unlinkat(dir, file) == 0 || errno == ENOENT ? 0 : -1;
}

/* Once.  What an earlier attempt left is in the way. */
static int rename_payload(int dir, const char *payload, const char *new_file,
                          const char *file)
{
    int error;

    if (remove_payload(dir, new_file) != 0 ||
        hf_sys_symlinkat(payload, dir, new_file) != 0)
        return -1;
    if (hf_sys_renameat(dir, new_file, file) == 0)
        return 0;
    error = errno;
    (void)hf_sys_unlinkat(dir, new_file);
    errno = error;
    return -1;
}

static int replace_payload(int dir, const struct hf_ticket *ticket,
                           const char *payload)
{
    char file[HF_PAYLOAD_FILE_BYTES];
    char new_file[HF_NEW_PAYLOAD_FILE_BYTES];
    int rc = -1;

    hf_payload_file_format(ticket, file);
    hf_new_payload_file_format(ticket, new_file);
    if (payload[0] == '\0')
        return remove_payload(dir, file);
    errno = ENOENT; /* swept by another in between, or there is no directory */
    for (unsigned try = 0; rc != 0 && errno == ENOENT && try < TRIES; try++)
        rc = rename_payload(dir, payload, new_file, file);
    return rc;
}

static hf_status carry_out(struct hf_engine *engine,
                           const struct hf_file_ticket *own,
                           const char *payload, struct hf_error *error)
{
    char path[HF_PATH_BYTES];
    hf_status status = HF_OK;
    int dir;

    hf_site_path(&engine->site, own->entry, NULL, path);
    dir = hf_sys_open(path, DIR_FLAGS, 0);
    if (dir < 0 || !hf_descriptors_add(&engine->descriptors, dir))
        return hf_trouble(error, "open", path);
    if (replace_payload(dir, &own->ticket, payload) != 0)
        status = hf_trouble(error, "write a payload in", path);
    hf_descriptors_close(&engine->descriptors, &dir);
    return status;
}

void hf_engine_describe(struct hf_engine *engine, struct hf_request *request)
{
    struct hf_file_ticket *own = hf_engine_own(engine, &request->ticket);
    bool found = own != NULL && hf_own_present(engine, own);
    struct hf_error error;

    if (found && carry_out(engine, own, request->payload, &error) != HF_OK)
        hf_engine_refuse(engine, request, &error);
    else
        hf_engine_answer_found(engine, request, HF_EVENT_DESCRIBED, found);
}
