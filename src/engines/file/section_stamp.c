/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NEW_GENERATION, and CLEAR_FLAG of what was stamped.
 *
 * A stamp is made under the temporary name and takes the place of the one
 * before it by a rename, so there always is the one or the other.
 */
#include <errno.h>

#include "engines/file/section_private.h"
#include "engines/file/sys.h"

/* HF_OK with ${there}: is the member at ${index}?  If it is dead it goes. */
static hf_status examine(struct hf_section *s, size_t index, bool *there)
{
    const struct hf_ticket *ticket = &s->result->listing->tickets.items[index];
    const struct hf_site *site = s->place->site;
    char file[HF_TICKET_FILE_BYTES];
    char path[HF_PATH_BYTES];
    struct hf_error unused;
    enum hf_life life;
    bool found;

    hf_ticket_file_format(ticket, file);
    hf_site_path(site, s->entry, file, path);
    life = hf_section_probe(s->place->descriptors, path, NULL, s->error);
    if (life == HF_LIFE_UNKNOWN)
        return s->error->status;
    if (life == HF_LIFE_DEAD)
        (void)hf_section_remove(site, s->entry, ticket, &found, &unused);
    *there = life == HF_LIFE_ALIVE;
    return HF_OK;
}

/* Count up to ${enough} members that are there, the one at ${own} not looked
 * at. */
static hf_status count_others(struct hf_section *s, size_t own, uint32_t enough)
{
    struct hf_section_result *result = s->result;
    hf_status status = HF_OK;
    bool there = false;

    for (size_t i = 0;
         i < result->listing->tickets.count && result->members < enough; i++) {
        if (i == own)
            continue;
        status = examine(s, i, &there);
        if (status != HF_OK)
            break;
        result->members += there;
    }
    return status;
}

/* Once more where the directory was removed under our hands. */
static hf_status list(struct hf_section *s)
{
    hf_listing_clear(s->result->listing);
    s->result->members = 0;
    return hf_listing_read(s->result->listing, s->directory->fd, s->path,
                           &s->place->counter, s->error);
}

/* HF_OK with ${s}->result->members. */
static hf_status count_members(struct hf_section *s)
{
    struct hf_snapshot snapshot;
    hf_status status = list(s);
    bool there = false;
    size_t own;

    if (status != HF_OK)
        return status;
    snapshot = hf_listing_snapshot(s->result->listing);
    own = hf_snapshot_find(&snapshot, &s->order->ticket.id);
    if (own < snapshot.count)
        status = examine(s, own, &there);
    if (status != HF_OK || !there)
        return status;
    s->result->members = 1;
    return count_others(s, own, s->order->limit);
}

static int make_new(int dir, const char *text)
{
    if (hf_sys_symlinkat(text, dir, HF_NEW_FILE) == 0)
        return 0;
    if (errno != EEXIST)
        return -1;
    /* Left by a process that was killed right here. */
    if (hf_sys_unlinkat(dir, HF_NEW_FILE) != 0)
        return -1;
    return hf_sys_symlinkat(text, dir, HF_NEW_FILE);
}

static enum hf_section_answer make_mark(struct hf_section *s)
{
    char text[HF_READY_TEXT_BYTES];
    int dir = s->directory->fd;
    enum hf_section_answer answer;
    struct stat before;

    hf_ready_format(&s->result->ticket, text);
    s->result->found = hf_sys_lstatat(dir, HF_READY_FILE, &before) == 0;
    if (make_new(dir, text) != 0)
        return hf_section_trouble(s, "make a stamp in");
    if (hf_sys_renameat(dir, HF_NEW_FILE, HF_READY_FILE) == 0)
        return HF_SECTION_DONE;
    answer = hf_section_trouble(s, "name a stamp in");
    (void)hf_sys_unlinkat(dir, HF_NEW_FILE);
    return answer;
}

enum hf_section_answer hf_section_stamp(struct hf_section *s)
{
    enum hf_section_answer answer;

    if (count_members(s) != HF_OK)
        return HF_SECTION_FAILED;
    if (s->result->members < s->order->limit)
        return HF_SECTION_DONE;
    answer = hf_section_take_number(s);
    return answer == HF_SECTION_DONE ? make_mark(s) : answer;
}

enum hf_section_answer hf_section_lower(struct hf_section *s)
{
    if (list(s) != HF_OK || count_others(s, SIZE_MAX, 1) != HF_OK)
        return HF_SECTION_FAILED;
    if (s->result->members > 0)
        return HF_SECTION_DONE;
    s->result->found = hf_sys_unlinkat(s->directory->fd, HF_READY_FILE) == 0;
    if (!s->result->found && errno != ENOENT)
        return hf_section_trouble(s, "remove the stamp of");
    return HF_SECTION_DONE;
}
