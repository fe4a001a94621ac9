/* SPDX-License-Identifier: Apache-2.0 */
/* Operations under way: each ends once, with a documented status, and each
 * callback is dropped once. */
#include <string.h>

#include "api.h"

void *api_choose(void *array, size_t count, size_t bytes, uint8_t n)
{
    for (size_t i = 0; i < count; i++) {
        void *one = (char *)array + (n + i) % count * bytes;

        if (*(void **)one != NULL)
            return one;
    }
    return NULL;
}

void *api_free_one(void *array, size_t count, size_t bytes)
{
    for (size_t i = 0; i < count; i++) {
        void *one = (char *)array + i * bytes;

        if (*(void **)one == NULL)
            return one;
    }
    return NULL;
}

/* -------------------------------------------------------------- statuses -- */

void api_expect(const char *call, hf_status status, uint64_t allowed)
{
    const struct hf_error *last = hf_last_error();

    if (status != HF_OK && (last->status != status || last->text[0] == '\0')) {
        fprintf(stderr, "%s: %s, but the last error is %s \"%s\"\n", call,
                hf_status_name(status), hf_status_name(last->status),
                last->text);
        abort();
    }
    if (status == HF_ENOMEM && api.fails && (allowed & BIT(HF_ENOMEM)) != 0)
        return;
    if (status != HF_ENOMEM && (allowed & BIT(status)) != 0)
        return;
    fprintf(stderr, "%s: %s is not among what it may end with\n", call,
            hf_status_name(status));
    abort();
}

static _Thread_local unsigned callbacks; /* that run on this thread */

bool api_is_reentrant(const struct api_client *client)
{
    return callbacks > 0 || (client->way == API_UV && !client->closed &&
                             pthread_equal(pthread_self(), api.main));
}

void api_step_inside(const struct api_step *step)
{
    callbacks++;
    api_step(step, true);
    callbacks--;
}

struct api_blocking api_blocks(const struct api_client *client,
                               uint64_t wait_ms)
{
    return (struct api_blocking){api_is_reentrant(client), scheduler_now_ms(),
                                 wait_ms};
}

/* How long a call may take that waits for no other owner, in milliseconds:
 * links break and sessions end meanwhile. */
#define LIMIT_MS ((uint64_t)30 * API_SESSION_MS)

bool api_blocked(const struct api_blocking *call, const char *name,
                 hf_status status, uint64_t allowed)
{
    uint64_t took_ms = scheduler_now_ms() - call->began_ms;

    if (call->reentrant) {
        api_expect(name, status,
                   BIT(HF_EREENTRANT) | BIT(HF_EINVAL) | BIT(HF_ESTATE) |
                       BIT(HF_ENOMEM));
        return false;
    }
    api_expect(name, status, allowed);
    MUST(call->wait_ms == HF_FOREVER || took_ms <= call->wait_ms + LIMIT_MS);
    return true;
}

/* ------------------------------------------------------------ operations -- */

struct api_operation *api_operation(const char *call, struct api_client *client,
                                    uint64_t allowed,
                                    const struct api_step *next_step)
{
    for (unsigned i = 0; i < API_OPERATIONS; i++) {
        struct api_operation *operation = &api.operations[i];

        if (operation->used)
            continue;
        *operation = (struct api_operation){.call = call,
                                            .client = client,
                                            .allowed = allowed,
                                            .used = true,
                                            .wanted_drops = 1,
                                            .thread = pthread_self()};
        if (next_step != NULL)
            operation->next_step = *next_step;
        return operation;
    }
    return NULL;
}

static void note_id(struct hf_tickets *tickets)
{
    const struct hf_ticket_view *view = NULL;

    for (size_t i = 0; (view = hf_tickets_at(tickets, i)) != NULL; i++) {
        MUST(strlen(view->id) < sizeof(api.id) && view->owner != NULL &&
             view->layout != NULL);
        memcpy(api.id, view->id, strlen(view->id) + 1);
    }
    MUST(hf_tickets_at(tickets, hf_tickets_count(tickets)) == NULL);
    for (size_t n = 0; hf_tickets_unknown(tickets, n) != NULL; n++)
        MUST(n < hf_tickets_count(tickets) + 8);
    hf_tickets_free(tickets);
}

static void on_done(void *arg, const struct hf_result *result)
{
    struct api_operation *operation = arg;

    MUST(operation->begun && !operation->ended && operation->drops == 0);
    MUST(operation->returned ||
         !pthread_equal(operation->thread, pthread_self()));
    operation->ended = true;
    api_expect(operation->call, result->status, operation->allowed);
    MUST(result->text != NULL);
    MUST((result->status == HF_OK) == (result->text[0] == '\0'));
    MUST(result->status == HF_OK ||
         strcmp(result->text, hf_last_error()->text) == 0);
    MUST(result->grant == NULL || result->status == HF_OK);
    MUST((result->grant != NULL) ==
         (operation->acquires && result->status == HF_OK));
    if (result->tickets != NULL)
        note_id(result->tickets);
    if (result->grant != NULL)
        api_keep(operation, result->grant);
    if (operation->on_end != NULL)
        operation->on_end(operation, result->status);
    api_step_inside(&operation->next_step);
    api_check();
}

void api_drop(void *arg)
{
    struct api_operation *operation = arg;

    MUST(operation->drops++ < operation->wanted_drops);
}

struct hf_done api_done(struct api_operation *operation)
{
    operation->begun = true;
    return (struct hf_done){on_done, operation, api_drop};
}

void api_started(struct api_operation *operation, hf_status status,
                 uint64_t allowed)
{
    operation->returned = true;
    api_expect(operation->call, status, allowed);
    if (status == HF_OK)
        return;
    MUST(!operation->ended && operation->drops == operation->wanted_drops);
    api_finished(operation);
}

void api_finished(struct api_operation *operation)
{
    operation->returned = true;
    operation->ended = true;
}
