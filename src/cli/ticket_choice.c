/* SPDX-License-Identifier: Apache-2.0 */
/* See ticket_choice.h. */
#include "cli/ticket_choice.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "cli/show.h"
#include "command/format.h"
#include "command/json.h"
#include "command/ui.h"
#include "core/ticket.h"

/* Fewer digits of an id mean nothing: a token may be a small number. */
#define ID_DIGITS_MIN 4

/* The text that a request to release leaves in ZooKeeper. */
#define REQUEST_TEXT "__REVOKE__"

/* ---------------------------------------------------------------- words -- */

hf_status hf_ticket_choice_check(const char *word, struct hf_error *error)
{
    size_t length = strlen(word);

    if (length > 0 &&
        (strspn(word, "0123456789") == length ||
         (length >= ID_DIGITS_MIN && length < HF_TICKET_ID_TEXT_BYTES &&
          strspn(word, "0123456789abcdef-") == length)))
        return HF_OK;
    return hf_error_set(error, HF_EINVAL,
                        "'%.80s' is no ticket; expected its TOKEN as 'holdfast "
                        "show' prints it, or its id, of which the first %d "
                        "digits or more are enough",
                        word, ID_DIGITS_MIN);
}

/* Does ${word} mean the ticket ${view}? */
static bool is_meant(const struct hf_ticket_view *view, const char *word)
{
    size_t length = strlen(word);
    char token[24];

    (void)snprintf(token, sizeof token, "%" PRIu64, view->token);
    if (view->token != 0 && strcmp(word, token) == 0)
        return true;
    return length >= ID_DIGITS_MIN && strncmp(view->id, word, length) == 0;
}

hf_status hf_ticket_choice_find(const struct hf_queue_view *queue,
                                const char *word,
                                const struct hf_ticket_view **view,
                                struct hf_error *error)
{
    const struct hf_ticket_view *at;

    *view = NULL;
    for (size_t i = 0; (at = hf_queue_view_at(queue, i)) != NULL; i++) {
        if (!is_meant(at, word))
            continue;
        if (*view != NULL && strcmp((*view)->id, at->id) != 0)
            return hf_error_set(error, HF_EINVAL,
                                "'%.80s' may mean ticket %.36s or %.36s of "
                                "'%.200s'; write more digits of the id",
                                word, (*view)->id, at->id, queue->name);
        *view = at;
    }
    if (*view != NULL)
        return HF_OK;
    return hf_error_set(error, HF_EGONE,
                        "there is no ticket '%.80s' in the queue of '%.200s', "
                        "or not any more; 'holdfast show' lists those that are "
                        "there",
                        word, queue->name);
}

/* --------------------------------------------------------------- owners -- */

enum hf_revoke_reach hf_revoke_reach_of(const struct hf_ticket_view *view)
{
    struct hf_owner owner;

    if (view->kind == HF_KIND_PARTICIPANT)
        return HF_REACH_BARRIER;
    if (strcmp(view->layout, "holdfast") == 0 ||
        strcmp(view->layout, "redis") == 0 ||
        hf_owner_text_parse(view->owner, 0, &owner))
        return HF_REACH_OWNER;
    if (strcmp(view->owner, REQUEST_TEXT) == 0)
        return HF_REACH_UNKNOWN;
    return strcmp(view->layout, "curator") == 0 ? HF_REACH_CURATOR
                                                : HF_REACH_NONE;
}

/* -------------------------------------------------------------- outcome -- */

void hf_ticket_outcomes_json(FILE *out, const char *engine, const char *name,
                             const struct hf_ticket_outcome *outcomes,
                             size_t count)
{
    struct hf_json json = {.out = out};

    hf_json_begin_object(&json, NULL);
    hf_json_string(&json, "name", name);
    hf_json_string(&json, "engine", engine);
    hf_json_begin_list(&json, "tickets");
    for (size_t i = 0; i < count; i++) {
        hf_json_begin_object(&json, NULL);
        hf_json_string(&json, "result", outcomes[i].result);
        if (outcomes[i].note != NULL)
            hf_json_string(&json, "note", outcomes[i].note);
        else
            hf_json_null(&json, "note");
        hf_show_json_ticket(&json, outcomes[i].view);
        hf_json_end_object(&json);
    }
    hf_json_end_list(&json);
    hf_json_end_object(&json);
}

void hf_ticket_outcome_print(const char *name,
                             const struct hf_ticket_outcome *outcome)
{
    const struct hf_ticket_view *view = outcome->view;
    char owner[HF_FORMAT_BYTES];

    hf_format_owner(view->owner, owner);
    printf("%s%s %s, which %s %s\n", outcome->result, outcome->done ? "" : ":",
           owner[0] != '\0' ? owner : "an owner that gives no name",
           view->kind == HF_KIND_PARTICIPANT ? "is at the barrier"
           : view->holds                     ? "holds"
                                             : "waits for",
           name);
    if (outcome->note != NULL) {
        (void)fflush(stdout);
        hf_ui_print("%s", outcome->note);
    }
}
