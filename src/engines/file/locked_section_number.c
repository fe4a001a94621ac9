/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What all parts of a locked section use: the next number, and failure.
 */
#include "core/error.h"
#include "engines/file/errno_error.h"
#include "engines/file/locked_section_private.h"

enum hf_locked_section_answer
hf_locked_section_fail(struct hf_locked_section *s, const char *what)
{
    hf_error_set_errno(s->error, what, s->path);
    return HF_LOCKED_SECTION_FAILED;
}

enum hf_locked_section_answer
hf_locked_section_take_number(struct hf_locked_section *s)
{
    struct hf_token_counter *counter = &s->root_dir->counter;
    const char *path = s->root_dir->settings->counter_path;
    struct hf_ticket *ticket = &s->result->ticket;

    s->counter_current = hf_token_counter_is_current(counter, path);
    if (!s->counter_current)
        return HF_LOCKED_SECTION_STALE;
    if (!hf_token_counter_next(counter, &ticket->sequence)) {
        /* A reservation waits for the disk. */
        if (s->args->wait == HF_FLOCK_WAIT_NONE)
            return HF_LOCKED_SECTION_BUSY;
        if (hf_token_counter_reserve(counter, path, s->error) != HF_OK)
            return HF_LOCKED_SECTION_FAILED;
        if (!hf_token_counter_next(counter, &ticket->sequence)) {
            hf_error_set(s->error, HF_EEXHAUSTED,
                         "%s gives no number after a reservation; try again",
                         path);
            return HF_LOCKED_SECTION_FAILED;
        }
    }
    ticket->token = ticket->sequence;
    return HF_LOCKED_SECTION_DONE;
}
