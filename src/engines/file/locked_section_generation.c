/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The two sections of a double barrier.  One starts a generation: it counts the
 * participants that are alive and puts the next number into READY.  The other
 * removes READY when no participant is left.
 *
 * READY is made under a temporary name and takes the place of the last one by a
 * rename, so there always is the one or the other.
 */
#include <errno.h>

#include "engines/file/listing.h"
#include "engines/file/locked_section_private.h"
#include "engines/file/syscalls.h"
#include "engines/file/ticket_file.h"

/* Is the owner of the participant at ${index} alive?  HF_OK with ${alive}.  A
 * dead one is removed. */
static hf_status probe_participant(struct hf_file_locked_section *s,
                                   size_t index, bool *alive)
{
    const struct hf_ticket *ticket = &s->result->listing->tickets.items[index];
    const struct hf_file_root_settings *settings = s->root_dir->settings;
    char file[HF_TICKET_FILE_BYTES];
    char path[HF_PATH_BYTES];
    struct hf_error unused;
    enum hf_file_owner_liveness liveness;
    bool found;

    hf_file_name_format(ticket, file);
    hf_file_root_settings_path(settings, s->dir_name, file, path);
    liveness =
        hf_file_fifo_probe(s->root_dir->descriptors, path, NULL, s->error);
    if (liveness == HF_OWNER_UNKNOWN)
        return s->error->status;
    if (liveness == HF_OWNER_DEAD)
        (void)hf_file_fifo_and_payload_remove(settings, s->dir_name, ticket,
                                              &found, &unused);
    *alive = liveness == HF_OWNER_ALIVE;
    return HF_OK;
}

/* Count living participants in .participants, up to ${max}, without the one at
 * ${own_index}. */
static hf_status count_others(struct hf_file_locked_section *s,
                              size_t own_index, uint32_t max)
{
    struct hf_file_locked_section_result *result = s->result;
    hf_status status = HF_OK;
    bool alive = false;

    for (size_t i = 0;
         i < result->listing->tickets.count && result->participants < max;
         i++) {
        if (i == own_index)
            continue;
        status = probe_participant(s, i, &alive);
        if (status != HF_OK)
            break;
        result->participants += alive;
    }
    return status;
}

/* List the participants, once more if this is not the first try. */
static hf_status list(struct hf_file_locked_section *s)
{
    hf_file_listing_clear(s->result->listing);
    s->result->participants = 0;
    return hf_file_listing_read(s->result->listing, s->lock_dir->fd, s->path,
                                &s->root_dir->counter, s->error);
}

/* Count the living participants, up to the number that is asked for, if the one
 * that asks is among them; else .participants is 0. */
static hf_status count_participants(struct hf_file_locked_section *s)
{
    struct hf_snapshot snapshot;
    hf_status status = list(s);
    bool alive = false;
    size_t own_index;

    if (status != HF_OK)
        return status;
    snapshot = hf_file_listing_snapshot(s->result->listing);
    own_index = hf_snapshot_find(&snapshot, &s->args->ticket.id);
    if (own_index < snapshot.count)
        status = probe_participant(s, own_index, &alive);
    if (status != HF_OK || !alive)
        return status;
    s->result->participants = 1;
    return count_others(s, own_index, s->args->limit);
}

/* Make a symbolic link under the temporary name.  0, or -1 with errno. */
static int make_temporary(int dir, const char *text)
{
    if (hf_file_sys_symlinkat(text, dir, HF_NEW_FILE) == 0)
        return 0;
    if (errno != EEXIST)
        return -1;
    /* Left by a process that was killed right here. */
    if (hf_file_sys_unlinkat(dir, HF_NEW_FILE) != 0)
        return -1;
    return hf_file_sys_symlinkat(text, dir, HF_NEW_FILE);
}

/* Put READY with the new number in the place of the last one. */
static enum hf_file_locked_section_answer
make_ready(struct hf_file_locked_section *s)
{
    char text[HF_READY_TEXT_BYTES];
    int dir = s->lock_dir->fd;
    enum hf_file_locked_section_answer answer;
    struct stat before;

    hf_file_ready_format(&s->result->ticket, text);
    s->result->found = hf_file_sys_lstatat(dir, HF_READY_FILE, &before) == 0;
    if (make_temporary(dir, text) != 0)
        return hf_file_locked_section_fail(s, "make ready in");
    if (hf_file_sys_renameat(dir, HF_NEW_FILE, HF_READY_FILE) == 0)
        return HF_LOCKED_SECTION_DONE;
    answer = hf_file_locked_section_fail(s, "rename ready in");
    (void)hf_file_sys_unlinkat(dir, HF_NEW_FILE);
    return answer;
}

enum hf_file_locked_section_answer
hf_file_locked_section_start_generation(struct hf_file_locked_section *s)
{
    enum hf_file_locked_section_answer answer;

    if (count_participants(s) != HF_OK)
        return HF_LOCKED_SECTION_FAILED;
    if (s->result->participants < s->args->limit)
        return HF_LOCKED_SECTION_DONE;
    answer = hf_file_locked_section_take_number(s);
    return answer == HF_LOCKED_SECTION_DONE ? make_ready(s) : answer;
}

enum hf_file_locked_section_answer
hf_file_locked_section_clear_ready(struct hf_file_locked_section *s)
{
    if (list(s) != HF_OK || count_others(s, SIZE_MAX, 1) != HF_OK)
        return HF_LOCKED_SECTION_FAILED;
    if (s->result->participants > 0)
        return HF_LOCKED_SECTION_DONE;
    s->result->found =
        hf_file_sys_unlinkat(s->lock_dir->fd, HF_READY_FILE) == 0;
    if (!s->result->found && errno != ENOENT)
        return hf_file_locked_section_fail(s, "remove ready from");
    return HF_LOCKED_SECTION_DONE;
}
