/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Watches of one's own tickets by what inotify calls what it watches for them:
 * each ticket has a watch descriptor of its own, and those of one directory
 * share another.  An event leads to those that it concerns, and the last one
 * that needs a watch descriptor is known to be.
 */
#include <stddef.h>

#include "engines/file/own_private.h"

struct wd_key {
    int wd;
    uint64_t number;
};

static struct hf_watch *of_ticket_wd(const struct hf_tree_node *node)
{
    size_t offset = offsetof(struct hf_watch, by_ticket_wd);

    if (node == NULL)
        return NULL;
    return (struct hf_watch *)(void *)((char *)node - offset);
}

static struct hf_watch *of_dir_wd(const struct hf_tree_node *node)
{
    size_t offset = offsetof(struct hf_watch, by_dir_wd);

    if (node == NULL)
        return NULL;
    return (struct hf_watch *)(void *)((char *)node - offset);
}

static int compare(const struct wd_key *key, int wd, uint64_t number)
{
    if (key->wd != wd)
        return key->wd < wd ? -1 : 1;
    return (key->number > number) - (key->number < number);
}

static int compare_ticket_wds(const void *key, const struct hf_tree_node *node)
{
    const struct hf_watch *watch = of_ticket_wd(node);

    return compare(key, watch->ticket_wd, watch->number);
}

static int compare_dir_wds(const void *key, const struct hf_tree_node *node)
{
    const struct hf_watch *watch = of_dir_wd(node);

    return compare(key, watch->dir_wd, watch->number);
}

void hf_own_wds_init(struct hf_own_watching *own)
{
    own->ticket_wds.compare = compare_ticket_wds;
    own->dir_wds.compare = compare_dir_wds;
}

void hf_own_remove_wds(struct hf_watch *watch)
{
    struct hf_own_watching *own = &watch->engine->own;
    const struct wd_key ticket = {watch->ticket_wd, watch->number};
    const struct wd_key dir = {watch->dir_wd, watch->number};

    if (ticket.wd >= 0)
        hf_tree_remove(&own->ticket_wds, &watch->by_ticket_wd, &ticket);
    if (dir.wd >= 0)
        hf_tree_remove(&own->dir_wds, &watch->by_dir_wd, &dir);
}

void hf_own_set_wds(struct hf_watch *watch, int ticket_wd, int dir_wd)
{
    struct hf_own_watching *own = &watch->engine->own;
    const struct wd_key ticket = {ticket_wd, watch->number};
    const struct wd_key dir = {dir_wd, watch->number};

    hf_own_remove_wds(watch);
    watch->ticket_wd = ticket_wd;
    watch->dir_wd = dir_wd;
    if (ticket.wd >= 0)
        hf_tree_add(&own->ticket_wds, &watch->by_ticket_wd, &ticket);
    if (dir.wd >= 0)
        hf_tree_add(&own->dir_wds, &watch->by_dir_wd, &dir);
}

static struct hf_watch *next_of_dir(const struct hf_engine *engine, int wd,
                                    uint64_t number)
{
    const struct wd_key key = {wd, number};
    struct hf_watch *watch =
        of_dir_wd(hf_tree_after(&engine->own.dir_wds, &key));

    return watch != NULL && watch->dir_wd == wd ? watch : NULL;
}

struct hf_watch *hf_own_next_of_wd(const struct hf_engine *engine, int wd,
                                   const struct hf_watch *after)
{
    const struct wd_key key = {wd, after != NULL ? after->number : 0};
    struct hf_watch *watch;

    if (after != NULL && after->ticket_wd != wd)
        return next_of_dir(engine, wd, after->number);
    watch = of_ticket_wd(hf_tree_after(&engine->own.ticket_wds, &key));
    return watch != NULL && watch->ticket_wd == wd ? watch
                                                   : next_of_dir(engine, wd, 0);
}
