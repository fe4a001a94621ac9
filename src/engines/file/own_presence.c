/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Is a ticket of this session still in its queue?  What is at its path is
 * compared with its FIFO by device and inode.
 */
#include "engines/file/own_presence.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "engines/file/engine.h"
#include "engines/file/own_tickets.h"
#include "engines/file/syscalls.h"

/* Does ${error}, of an lstat(), say that the path does not exist?  Others
 * (EACCES, ENOMEM) say nothing about the ticket. */
static bool means_gone(int error)
{
    return error == ENOENT || error == ENOTDIR || error == ELOOP;
}

/* No other file can have the inode number, because the FIFO is open. */
enum hf_file_presence hf_file_ticket_presence(const struct hf_engine *engine,
                                              struct hf_file_ticket *ticket)
{
    char file[HF_TICKET_FILE_BYTES];
    char path[HF_PATH_BYTES];
    struct stat at_path;

    ticket->present = false;
    hf_file_name_format(&ticket->ticket, file);
    hf_file_root_settings_path(&engine->settings, ticket->dir_name, file, path);
    if (hf_file_sys_lstat(path, &at_path) != 0)
        return means_gone(errno) ? HF_GONE : HF_PRESENCE_UNKNOWN;
    if (at_path.st_dev != ticket->device || at_path.st_ino != ticket->inode)
        return HF_GONE;
    ticket->last_mtime = at_path.st_mtim;
    ticket->present = true;
    return HF_PRESENT;
}

bool hf_file_ticket_is_present(const struct hf_engine *engine,
                               struct hf_file_ticket *ticket)
{
    return hf_file_ticket_presence(engine, ticket) != HF_GONE;
}

/* The payload is the target of a symbolic link. */
void hf_file_ticket_read_why(const struct hf_engine *engine,
                             const struct hf_file_ticket *ticket,
                             char why[HF_EVICTED_WHY_BYTES])
{
    const size_t mark = strlen(HF_FILE_EVICTED_BY);
    char file[HF_PAYLOAD_FILE_BYTES];
    char path[HF_PATH_BYTES];
    char text[HF_PAYLOAD_BYTES];
    ssize_t bytes;

    why[0] = '\0';
    hf_file_payload_name_format(&ticket->ticket, file);
    hf_file_root_settings_path(&engine->settings, ticket->dir_name, file, path);
    bytes = hf_file_sys_readlinkat(AT_FDCWD, path, text, sizeof(text));
    if (bytes > (ssize_t)mark && memcmp(text, HF_FILE_EVICTED_BY, mark) == 0)
        (void)hf_evicted_by_explain(text + mark, (size_t)bytes - mark, why);
}

/* The text is for the person who deleted or moved the whole directory without
 * knowing that it is in use. */
void hf_file_answer_own_gone(struct hf_engine *engine,
                             struct hf_request *request, const char *why)
{
    struct hf_event event = {.kind = HF_EVENT_GONE};
    char locks[HF_PATH_BYTES];
    struct stat status;

    hf_file_root_settings_path(&engine->settings, ".", NULL, locks);
    event.as.answer.request = request;
    event.as.answer.text = why;
    if (hf_file_sys_lstat(locks, &status) != 0 && means_gone(errno))
        event.as.answer.text =
            "the lock directory was deleted or moved away; make sure that "
            "nothing cleans it up while it is in use";
    engine->host.event(engine->host.host, &event);
}
