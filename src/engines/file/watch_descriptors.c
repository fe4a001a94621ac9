/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Watches of own tickets in two trees, by the watch descriptor of the FIFO and
 * by that of the directory.
 */
#include "engines/file/watch_descriptors.h"

#include <stddef.h>

#include "engines/file/engine.h"
#include "engines/file/inotify.h"
#include "engines/file/ticket_watch.h"

/* A place in either tree: by watch descriptor, then by number of the watch. */
struct wd_key {
    int wd;
    uint64_t number;
};

/* The watch of a node, in either tree; NULL stays NULL. */
static struct hf_file_ticket_watch *
of_ticket_wd(const struct hf_tree_node *node)
{
    size_t offset = offsetof(struct hf_file_ticket_watch, by_ticket_wd);

    if (node == NULL)
        return NULL;
    return (struct hf_file_ticket_watch *)(void *)((char *)node - offset);
}

static struct hf_file_ticket_watch *of_dir_wd(const struct hf_tree_node *node)
{
    size_t offset = offsetof(struct hf_file_ticket_watch, by_dir_wd);

    if (node == NULL)
        return NULL;
    return (struct hf_file_ticket_watch *)(void *)((char *)node - offset);
}

static int compare(const struct wd_key *key, int wd, uint64_t number)
{
    if (key->wd != wd)
        return key->wd < wd ? -1 : 1;
    return (key->number > number) - (key->number < number);
}

static int compare_ticket_wds(const void *key, const struct hf_tree_node *node)
{
    const struct hf_file_ticket_watch *watch = of_ticket_wd(node);

    return compare(key, watch->ticket_wd, watch->number);
}

static int compare_dir_wds(const void *key, const struct hf_tree_node *node)
{
    const struct hf_file_ticket_watch *watch = of_dir_wd(node);

    return compare(key, watch->dir_wd, watch->number);
}

void hf_file_watch_descriptors_init(struct hf_file_inotify *inotify)
{
    inotify->ticket_wds.compare = compare_ticket_wds;
    inotify->dir_wds.compare = compare_dir_wds;
}

void hf_file_watch_descriptors_clear(struct hf_file_ticket_watch *watch)
{
    struct hf_file_inotify *inotify = &watch->engine->inotify;
    const struct wd_key ticket = {watch->ticket_wd, watch->number};
    const struct wd_key dir = {watch->dir_wd, watch->number};

    if (ticket.wd >= 0)
        hf_tree_remove(&inotify->ticket_wds, &watch->by_ticket_wd, &ticket);
    if (dir.wd >= 0)
        hf_tree_remove(&inotify->dir_wds, &watch->by_dir_wd, &dir);
}

void hf_file_watch_descriptors_set(struct hf_file_ticket_watch *watch,
                                   int ticket_wd, int dir_wd)
{
    struct hf_file_inotify *inotify = &watch->engine->inotify;
    const struct wd_key ticket = {ticket_wd, watch->number};
    const struct wd_key dir = {dir_wd, watch->number};

    hf_file_watch_descriptors_clear(watch);
    watch->ticket_wd = ticket_wd;
    watch->dir_wd = dir_wd;
    if (ticket.wd >= 0)
        hf_tree_add(&inotify->ticket_wds, &watch->by_ticket_wd, &ticket);
    if (dir.wd >= 0)
        hf_tree_add(&inotify->dir_wds, &watch->by_dir_wd, &dir);
}

/* The watch after ${number} whose directory has ${wd}, or NULL. */
static struct hf_file_ticket_watch *next_of_dir(const struct hf_engine *engine,
                                                int wd, uint64_t number)
{
    const struct wd_key key = {wd, number};
    struct hf_file_ticket_watch *watch =
        of_dir_wd(hf_tree_after(&engine->inotify.dir_wds, &key));

    return watch != NULL && watch->dir_wd == wd ? watch : NULL;
}

struct hf_file_ticket_watch *
hf_file_watch_descriptors_next(const struct hf_engine *engine, int wd,
                               const struct hf_file_ticket_watch *after)
{
    const struct wd_key key = {wd, after != NULL ? after->number : 0};
    struct hf_file_ticket_watch *watch;

    if (after != NULL && after->ticket_wd != wd)
        return next_of_dir(engine, wd, after->number);
    watch = of_ticket_wd(hf_tree_after(&engine->inotify.ticket_wds, &key));
    return watch != NULL && watch->ticket_wd == wd ? watch
                                                   : next_of_dir(engine, wd, 0);
}
