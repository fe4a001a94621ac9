/* SPDX-License-Identifier: Apache-2.0 */
/* What is under way: it ends once, with a status that is documented, and what
 * it was handed is dropped once. */
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
    if (status == HF_ENOMEM && api.fails && (allowed & BIT(HF_ENOMEM)) != 0)
        return;
    if (status != HF_ENOMEM && (allowed & BIT(status)) != 0)
        return;
    fprintf(stderr, "%s: %s is not among what it may end with\n", call,
            hf_status_name(status));
    abort();
}

static _Thread_local unsigned callbacks; /* that run here */

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
    return (struct api_blocking){api_is_reentrant(client), turns_now_ms(),
                                 wait_ms};
}

/* So long may a call take that waits for nobody but the engine, links and
 * sessions included, which break and come again. */
#define PATIENCE_MS ((uint64_t)30 * API_SESSION_MS)

bool api_blocked(const struct api_blocking *call, const char *name,
                 hf_status status, uint64_t allowed)
{
    uint64_t took_ms = turns_now_ms() - call->began_ms;

    if (call->reentrant) {
        api_expect(name, status,
                   BIT(HF_EREENTRANT) | BIT(HF_EINVAL) | BIT(HF_ESTATE) |
                       BIT(HF_ENOMEM));
        return false;
    }
    api_expect(name, status, allowed);
    MUST(call->wait_ms == HF_FOREVER || took_ms <= call->wait_ms + PATIENCE_MS);
    return true;
}

/* ----------------------------------------------------------------- deeds -- */

struct api_deed *api_deed(const char *call, struct api_client *client,
                          uint64_t allowed, const struct api_step *then)
{
    for (unsigned i = 0; i < API_DEEDS; i++) {
        struct api_deed *deed = &api.deeds[i];

        if (deed->used)
            continue;
        *deed = (struct api_deed){.call = call,
                                  .client = client,
                                  .allowed = allowed,
                                  .used = true,
                                  .wanted_drops = 1,
                                  .thread = pthread_self()};
        if (then != NULL)
            deed->then = *then;
        return deed;
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
    struct api_deed *deed = arg;

    MUST(deed->begun && !deed->ended && deed->drops == 0);
    MUST(deed->returned || !pthread_equal(deed->thread, pthread_self()));
    deed->ended = true;
    api_expect(deed->call, result->status, deed->allowed);
    MUST(result->text != NULL);
    MUST((result->status == HF_OK) == (result->text[0] == '\0'));
    MUST(result->grant == NULL || result->status == HF_OK);
    MUST((result->grant != NULL) ==
         (deed->acquires && result->status == HF_OK));
    if (result->tickets != NULL)
        note_id(result->tickets);
    if (result->grant != NULL)
        api_keep(deed, result->grant);
    if (deed->told != NULL)
        deed->told(deed, result->status);
    api_step_inside(&deed->then);
    api_check();
}

void api_drop(void *arg)
{
    struct api_deed *deed = arg;

    MUST(deed->drops++ < deed->wanted_drops);
}

struct hf_done api_done(struct api_deed *deed)
{
    deed->begun = true;
    return (struct hf_done){on_done, deed, api_drop};
}

void api_began(struct api_deed *deed, hf_status status, uint64_t allowed)
{
    deed->returned = true;
    api_expect(deed->call, status, allowed);
    if (status == HF_OK)
        return;
    MUST(!deed->ended && deed->drops == deed->wanted_drops);
    api_over(deed);
}

void api_over(struct api_deed *deed)
{
    deed->returned = true;
    deed->ended = true;
}
