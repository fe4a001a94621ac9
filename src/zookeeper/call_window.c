/* SPDX-License-Identifier: Apache-2.0 */
/* Work that waits is kept in one FIFO list for each class, and in a tree by
 * its address so that hf_zk_window_cancel() finds it without a walk.  See
 * call_window.h for what the window is for. */
#include "zookeeper/call_window.h"

#include "base/container_of.h"
#include "base/memory.h"
#include "base/time_math.h"

/* One piece of work that waits for room.  It is allocated when it begins to
 * wait and freed when it is taken or cancelled. */
struct hf_zk_waiting {
    struct hf_tree_node by_work;
    void *work;
    const struct hf_zk_window_callbacks *callbacks;
    enum hf_zk_work_class class;
    struct hf_zk_waiting *next;
    struct hf_zk_waiting **link;
};

/* Order of the tree: by the address of the work. */
static int compare(const void *work, const struct hf_tree_node *node)
{
    uintptr_t key = (uintptr_t)work;
    uintptr_t other =
        (uintptr_t)container_of(node, const struct hf_zk_waiting, by_work)
            ->work;

    return (key > other) - (key < other);
}

void hf_zk_window_init(struct hf_zk_window *window, unsigned size)
{
    *window =
        (struct hf_zk_window){.size = size > 0 ? size : HF_ZK_WINDOW_CALLS,
                              .work = {.compare = compare}};
    for (unsigned i = 0; i < HF_ZK_CLASSES; i++)
        window->waiting_work[i].end = &window->waiting_work[i].first;
}

/* ----------------------------------------------------------------- lists -- */

/* Insert ${waiting} into the list of its class where ${link} points, and keep
 * the list's end pointer right. */
static void insert_at(struct hf_zk_window *window,
                      struct hf_zk_waiting *waiting,
                      struct hf_zk_waiting **link)
{
    waiting->link = link;
    waiting->next = *link;
    *link = waiting;
    if (waiting->next != NULL)
        waiting->next->link = &waiting->next;
    else
        window->waiting_work[waiting->class].end = &waiting->next;
}

/* Remove ${waiting} from its list and from the tree, and free it. */
static void remove_waiting(struct hf_zk_window *window,
                           struct hf_zk_waiting *waiting)
{
    *waiting->link = waiting->next;
    if (waiting->next != NULL)
        waiting->next->link = waiting->link;
    else
        window->waiting_work[waiting->class].end = waiting->link;
    hf_tree_remove(&window->work, &waiting->by_work, waiting->work);
    hf_free(waiting);
}

/* Make ${work} wait as the last of its class; false for lack of memory. */
static bool add(struct hf_zk_window *window, enum hf_zk_work_class class,
                const struct hf_zk_window_callbacks *callbacks, void *work)
{
    struct hf_zk_waiting *waiting = hf_alloc(sizeof *waiting);

    if (waiting == NULL)
        return false;
    waiting->work = work;
    waiting->callbacks = callbacks;
    waiting->class = class;
    insert_at(window, waiting, window->waiting_work[class].end);
    hf_tree_add(&window->work, &waiting->by_work, work);
    return true;
}

/* ---------------------------------------------------------------- window -- */

bool hf_zk_window_has_room(const struct hf_zk_window *window, unsigned calls)
{
    return calls < window->size && window->alone == NULL;
}

void hf_zk_window_used(struct hf_zk_window *window, uint64_t now_ms)
{
    window->locks_until_ms = hf_after_ms(now_ms, HF_ZK_LOCKS_AT_WORK_MS);
}

bool hf_zk_window_has_room_for(const struct hf_zk_window *window,
                               const void *queue, unsigned calls, unsigned own,
                               uint64_t now_ms)
{
    bool waits = window->work.root != NULL;

    if (window->alone != NULL && window->alone != queue)
        return false;
    if (waits && hf_zk_window_has_room(window, calls))
        return false; /* the session begins the work that waits, and then calls
                         .room of its listeners */
    if (!waits && now_ms >= window->locks_until_ms)
        return calls < window->size;
    return own < HF_ZK_WINDOW_BESIDE_LOCKS;
}

hf_status hf_zk_window_enter(struct hf_zk_window *window, unsigned calls,
                             enum hf_zk_work_class class,
                             const struct hf_zk_window_callbacks *callbacks,
                             void *work)
{
    /* Work that waits already goes first, even when there is room. */
    if (class == HF_ZK_URGENT ||
        (hf_zk_window_has_room(window, calls) && window->work.root == NULL))
        return HF_OK;
    return add(window, class, callbacks, work) ? HF_EBUSY : HF_ENOMEM;
}

/* Take from .next_class, or from the other class if that has no work. */
void *hf_zk_window_take(struct hf_zk_window *window,
                        const struct hf_zk_window_callbacks **callbacks)
{
    struct hf_zk_waiting *waiting =
        window->waiting_work[window->next_class].first;
    void *work;

    if (waiting == NULL)
        waiting =
            window->waiting_work[HF_ZK_CLASSES - 1 - window->next_class].first;
    if (waiting == NULL)
        return NULL;
    window->next_class = HF_ZK_CLASSES - 1 - waiting->class;
    work = waiting->work;
    *callbacks = waiting->callbacks;
    remove_waiting(window, waiting);
    return work;
}

bool hf_zk_window_cancel(struct hf_zk_window *window, const void *work)
{
    struct hf_tree_node *node = hf_tree_find(&window->work, work);

    if (node == NULL)
        return false;
    remove_waiting(window, container_of(node, struct hf_zk_waiting, by_work));
    return true;
}
