/* SPDX-License-Identifier: Apache-2.0 */
#include "engines/zookeeper/window.h"

#include "core/memory.h"
#include "engines/zookeeper/private.h"

struct hf_zk_waiting {
    struct hf_tree_node by_request; /* first */
    struct hf_request *request;
    enum hf_zk_class class;
    struct hf_zk_waiting *next;
    struct hf_zk_waiting **link;
};

static int compare(const void *request, const struct hf_tree_node *node)
{
    uintptr_t key = (uintptr_t)request;
    uintptr_t other =
        (uintptr_t)((const struct hf_zk_waiting *)(const void *)node)->request;

    return (key > other) - (key < other);
}

void hf_zk_window_init(struct hf_zk_window *window, unsigned size)
{
    *window = (struct hf_zk_window){.size = size > 0 ? size : HF_ZK_WINDOW,
                                    .requests = {.compare = compare}};
    for (unsigned i = 0; i < HF_ZK_CLASSES; i++)
        window->lines[i].end = &window->lines[i].first;
}

/* --------------------------------------------------------------- classes -- */

/* What others wait for, or the session lives by. */
static bool is_urgent(const struct hf_request *request)
{
    switch (request->kind) {
    case HF_REQUEST_WITHDRAW:
    case HF_REQUEST_DOWNGRADE:
    case HF_REQUEST_PROVE:
        return true;
    case HF_REQUEST_ENQUEUE:
        return request->ticket_kind == HF_TICKET_LEASE;
    default:
        return false;
    }
}

static enum hf_zk_class class_of(const struct hf_request *request)
{
    return request->kind == HF_REQUEST_ENQUEUE || request->whole ? HF_ZK_NEW
                                                                 : HF_ZK_THERE;
}

/* ----------------------------------------------------------------- lines -- */

static void link_at(struct hf_zk_window *window, struct hf_zk_waiting *waiting,
                    struct hf_zk_waiting **link)
{
    waiting->link = link;
    waiting->next = *link;
    *link = waiting;
    if (waiting->next != NULL)
        waiting->next->link = &waiting->next;
    else
        window->lines[waiting->class].end = &waiting->next;
}

static void remove_waiting(struct hf_zk_window *window,
                           struct hf_zk_waiting *waiting)
{
    *waiting->link = waiting->next;
    if (waiting->next != NULL)
        waiting->next->link = waiting->link;
    else
        window->lines[waiting->class].end = waiting->link;
    hf_tree_remove(&window->requests, &waiting->by_request, waiting->request);
    hf_free(waiting);
}

static bool add(struct hf_zk_window *window, struct hf_request *request)
{
    struct hf_zk_waiting *waiting = hf_alloc(sizeof *waiting);

    if (waiting == NULL)
        return false;
    waiting->request = request;
    waiting->class = class_of(request);
    link_at(window, waiting, window->lines[waiting->class].end);
    hf_tree_add(&window->requests, &waiting->by_request, request);
    return true;
}

/* The next one, taken out, or NULL. */
static struct hf_request *take(struct hf_zk_window *window)
{
    struct hf_zk_waiting *waiting = window->lines[window->turn].first;
    struct hf_request *request;

    if (waiting == NULL)
        waiting = window->lines[HF_ZK_CLASSES - 1 - window->turn].first;
    if (waiting == NULL)
        return NULL;
    window->turn = HF_ZK_CLASSES - 1 - waiting->class;
    request = waiting->request;
    remove_waiting(window, waiting);
    return request;
}

/* ---------------------------------------------------------------- window -- */

static bool has_room(const struct hf_zk *zk)
{
    return zk->wire.calls < zk->window.size;
}

bool hf_zk_window_keeps(struct hf_zk *zk, struct hf_request *request)
{
    struct hf_zk_window *window = &zk->window;

    if (is_urgent(request) || (has_room(zk) && window->requests.root == NULL))
        return false;
    if (!add(window, request))
        hf_zk_fail_memory(zk, request);
    return true;
}

void hf_zk_window_open(struct hf_zk *zk)
{
    struct hf_request *request;

    while (hf_zk_session_usable(&zk->session) && has_room(zk) &&
           (request = take(&zk->window)) != NULL)
        hf_zk_begin(zk, request);
}

bool hf_zk_window_forget(struct hf_zk *zk, const struct hf_request *request)
{
    struct hf_tree_node *node = hf_tree_find(&zk->window.requests, request);

    if (node == NULL)
        return false;
    remove_waiting(&zk->window, (struct hf_zk_waiting *)(void *)node);
    return true;
}

void hf_zk_window_cut(struct hf_zk *zk)
{
    const char *trouble = zk->session.trouble;
    struct hf_request *request;

    hf_zk_wire_cut(zk);
    while ((request = take(&zk->window)) != NULL) {
        hf_zk_fail(zk, request, HF_FAILURE_RETRY, HF_EUNREACHABLE,
                   "the connection ended before the request was sent%s%s",
                   trouble[0] != '\0' ? ": " : "", trouble);
    }
}
