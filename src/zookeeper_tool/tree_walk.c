/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See tree_walk.h.  The nodes from the first one down to the present one are a
 * stack of families.  A family has a ring of children that are read ahead; the
 * child that is due next is always one of them.
 */
#include "zookeeper_tool/tree_walk.h"

#include <assert.h>

#include "core/error.h"
#include "core/memory.h"
#include "zookeeper_tool/node_read.h"

/* How many nodes are read ahead in all families together. */
#define AHEAD_MAX 64

/* A node that was entered, and its children. */
struct family {
    struct family *above;
    struct hf_tool_read *node;
    size_t next;    /* the child that is entered next */
    size_t started; /* the first one that is not read yet */
    struct hf_tool_read *ring[AHEAD_MAX]; /* by number of the child */
};

struct walking {
    struct hf_tool *tool;
    const struct hf_tool_walk *walk;
    struct family *top;
    size_t ahead; /* nodes in all rings */
    struct hf_error *error;
};

static hf_status fail_memory(struct walking *walking)
{
    return hf_error_set(walking->error, HF_ENOMEM, "no memory is left");
}

/* Begin to read ${path}, a node at ${depth}. */
static struct hf_tool_read *start_reading(struct walking *walking,
                                          const char *path, unsigned depth)
{
    const struct hf_tool_walk *walk = walking->walk;
    const struct hf_tool_read_opts opts = {
        .data = walk->data,
        .acls = walk->acls,
        .children = depth < walk->depth_max,
        .without_system = walk->skip_system && !walking->tool->has_chroot};

    return hf_tool_read_start(walking->tool, path, depth, &opts);
}

/* Is it the end of what ${family} may read ahead?  The child that is due next
 * is read in any case. */
static bool has_enough(const struct walking *walking,
                       const struct family *family)
{
    if (family->started == family->node->name_count)
        return true;
    return family->started > family->next && walking->ahead >= AHEAD_MAX;
}

static hf_status read_ahead(struct walking *walking)
{
    struct family *family = walking->top;

    while (!has_enough(walking, family)) {
        const struct hf_tool_node *node = &family->node->node;
        char *path =
            hf_tool_join(node->path, family->node->names[family->started]);
        struct hf_tool_read *child =
            path == NULL ? NULL : start_reading(walking, path, node->depth + 1);

        hf_free(path);
        if (child == NULL)
            return fail_memory(walking);
        assert(family->started - family->next < AHEAD_MAX);
        family->ring[family->started++ % AHEAD_MAX] = child;
        walking->ahead++;
    }
    return HF_OK;
}

/* Make ${node}, which was entered, the top of the stack.  ${node} is taken
 * over, also on failure. */
static hf_status push(struct walking *walking, struct hf_tool_read *node)
{
    struct family *family = hf_alloc(sizeof *family);

    if (family == NULL) {
        hf_tool_read_free(node);
        return fail_memory(walking);
    }
    hf_tool_read_drop_data(node);
    family->node = node;
    family->above = walking->top;
    walking->top = family;
    return HF_OK;
}

/* Free the top of the stack, with what it has read ahead. */
static void pop(struct walking *walking)
{
    struct family *family = walking->top;

    for (; family->next < family->started; family->next++) {
        hf_tool_read_free(family->ring[family->next % AHEAD_MAX]);
        walking->ahead--;
    }
    hf_tool_read_free(family->node);
    walking->top = family->above;
    hf_free(family);
}

/* ${node} was read: visit it, and go on with its children.  ${node} is taken
 * over. */
static hf_status enter(struct walking *walking, struct hf_tool_read *node)
{
    hf_status status = walking->walk->enter(walking->walk->arg, &node->node);

    if (status == HF_OK)
        return push(walking, node);
    hf_tool_read_free(node);
    return status;
}

/* Enter the next child of the top. */
static hf_status enter_next(struct walking *walking)
{
    struct family *family = walking->top;
    hf_status status = read_ahead(walking);
    struct hf_tool_read *child;

    if (status != HF_OK)
        return status;
    child = family->ring[family->next++ % AHEAD_MAX];
    walking->ahead--;
    hf_tool_read_wait(child);
    if (child->node.status != HF_EGONE)
        return enter(walking, child);
    hf_tool_read_free(child);
    return HF_OK;
}

/* All children of the top were visited. */
static hf_status leave(struct walking *walking)
{
    const struct hf_tool_walk *walk = walking->walk;
    hf_status status = HF_OK;

    if (walk->leave != NULL)
        status = walk->leave(walk->arg, &walking->top->node->node);
    if (status == HF_OK)
        pop(walking);
    return status;
}

/* Read and enter the first node. */
static hf_status enter_first(struct walking *walking, const char *path)
{
    struct hf_tool_read *node = start_reading(walking, path, 0);
    hf_status status;

    if (node == NULL)
        return fail_memory(walking);
    hf_tool_read_wait(node);
    status = node->node.status;
    if (status == HF_OK)
        return enter(walking, node);
    (void)hf_error_set(walking->error, status, "%s", node->node.text);
    hf_tool_read_free(node);
    return status;
}

hf_status hf_tool_walk_tree(struct hf_tool *tool, const char *path,
                            const struct hf_tool_walk *walk,
                            struct hf_error *error)
{
    struct walking walking = {tool, walk, NULL, 0, error};
    hf_status status = enter_first(&walking, path);

    while (status == HF_OK && walking.top != NULL)
        status = walking.top->next < walking.top->node->name_count
                     ? enter_next(&walking)
                     : leave(&walking);
    while (walking.top != NULL)
        pop(&walking);
    return status;
}
