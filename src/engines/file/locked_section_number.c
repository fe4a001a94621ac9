/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What all parts of a locked section use: the next number, and failure.
 */
#include "base/error.h"
#include "engines/file/errno_error.h"
#include "engines/file/locked_section_private.h"

enum hf_file_locked_section_answer
hf_file_locked_section_fail(struct hf_file_locked_section *s, const char *what)
{
    hf_file_error_set_errno(s->error, what, s->path);
    return HF_LOCKED_SECTION_FAILED;
}

/* Take the next number into the ticket.  A reservation waits for the disk. */
static enum hf_file_locked_section_answer take(struct hf_file_locked_section *s)
{
    struct hf_file_token_counter *counter = &s->root_dir->counter;
    const char *path = s->root_dir->settings->counter_path;
    enum hf_file_flock_wait wait = s->args->wait;
    uint64_t *number = &s->result->ticket.sequence;
    enum hf_file_token_counter_answer answer = hf_file_token_counter_take(
        counter, path, wait, s->args->cancelled, number, s->error);

    if (answer == HF_TOKEN_COUNTER_USED_UP && wait != HF_FLOCK_WAIT_NONE) {
        if (hf_file_token_counter_reserve(counter, path, s->error) != HF_OK)
            return HF_LOCKED_SECTION_FAILED;
        answer = hf_file_token_counter_take(
            counter, path, wait, s->args->cancelled, number, s->error);
    }
    switch (answer) {
    case HF_TOKEN_COUNTER_TAKEN:
        return HF_LOCKED_SECTION_DONE;
    case HF_TOKEN_COUNTER_USED_UP:
        if (wait == HF_FLOCK_WAIT_NONE)
            return HF_LOCKED_SECTION_BUSY;
        hf_error_set(s->error, HF_EEXHAUSTED,
                     "%s gives no number after a reservation; try again", path);
        return HF_LOCKED_SECTION_FAILED;
    case HF_TOKEN_COUNTER_BUSY:
        return HF_LOCKED_SECTION_BUSY;
    case HF_TOKEN_COUNTER_STALE:
        return HF_LOCKED_SECTION_STALE;
    case HF_TOKEN_COUNTER_FAILED:
        break;
    }
    return HF_LOCKED_SECTION_FAILED;
}

enum hf_file_locked_section_answer
hf_file_locked_section_take_number(struct hf_file_locked_section *s)
{
    enum hf_file_locked_section_answer answer = take(s);
    struct hf_ticket *ticket = &s->result->ticket;

    s->counter_current = answer == HF_LOCKED_SECTION_DONE;
    if (s->counter_current)
        ticket->token = ticket->sequence;
    return answer;
}
