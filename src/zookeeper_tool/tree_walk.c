/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See tree_walk.h.  The walk has a stack of families: a family is a node on the
 * way down to the current node, together with its children.  A family has a
 * ring of children whose reads were begun ahead.  The child that is entered
 * next is always one of them.
 */
#include "zookeeper_tool/tree_walk.h"

#include <assert.h>

#include "base/error.h"
#include "base/memory.h"

/* How many nodes may be read ahead in all families together.  At first it is
 * AHEAD_FIRST, because it is not known how large answers are.  It grows by one
 * with each answer, up to AHEAD_MAX.  After an answer of more than LARGE_BYTES
 * it is 1 again. */
#define AHEAD_MAX 64
#define AHEAD_FIRST 4
#define LARGE_BYTES (1U << 20)

/* The bounds of a walk. */
#define KEPT_BYTES_MAX (256U << 20)
#define NODES_MAX 100000000

/* A node that was entered, and its children. */
struct family {
    struct family *above;
    struct hf_tool_read *node;
    size_t next;    /* index of the child that is entered next */
    size_t started; /* index of the first child whose read was not begun */
    struct hf_tool_read *ring[AHEAD_MAX]; /* index: number of the child, modulo
                                             AHEAD_MAX */
};

struct walking {
    struct hf_tool *tool;
    const struct hf_tool_walk *walk;
    struct family *top;
    size_t ahead;     /* nodes in all rings */
    size_t ahead_max; /* how many nodes may be in all rings now */
    size_t entered;   /* nodes that were entered so far */
    struct hf_tool_read_budget budget;
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
        .budget = &walking->budget,
        .data = walk->data,
        .acls = walk->acls,
        .children = depth < walk->depth_max,
        .without_system = walk->skip_system && !walking->tool->has_chroot};

    return hf_tool_read_start(walking->tool, path, depth, &opts);
}

/* Must no further read of ${family} be begun now?  The child that is entered
 * next is always read. */
static bool has_enough(const struct walking *walking,
                       const struct family *family)
{
    if (family->started == family->node->name_count)
        return true;
    return family->started > family->next &&
           walking->ahead >= walking->ahead_max;
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

/* Push ${node}, which was entered, on the stack.  ${node} belongs to the walk
 * from now on; on failure it is freed. */
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

/* Free the children that ${family} has read ahead. */
static void drop_ahead(struct walking *walking, struct family *family)
{
    while (family->started > family->next) {
        hf_tool_read_free(family->ring[--family->started % AHEAD_MAX]);
        walking->ahead--;
    }
}

/* Free the top of the stack, with what it has read ahead. */
static void pop(struct walking *walking)
{
    struct family *family = walking->top;

    drop_ahead(walking, family);
    hf_tool_read_free(family->node);
    walking->top = family->above;
    hf_free(family);
}

/* Visit ${node}, which was read, and push it, so that its children come next.
 * ${node} belongs to the walk from now on; on failure it is freed. */
static hf_status enter(struct walking *walking, struct hf_tool_read *node)
{
    hf_status status = walking->walk->enter(walking->walk->arg, &node->node);

    if (status == HF_OK)
        return push(walking, node);
    hf_tool_read_free(node);
    return status;
}

/* Wait for the child that is entered next, and take it out of the ring of its
 * family.  The caller frees ${*child} or passes it on. */
static hf_status read_due(struct walking *walking, struct hf_tool_read **child)
{
    struct family *family = walking->top;
    hf_status status = read_ahead(walking);

    if (status != HF_OK)
        return status;
    *child = family->ring[family->next++ % AHEAD_MAX];
    walking->ahead--;
    hf_tool_read_wait(*child);
    return HF_OK;
}

/* The budget was too small for ${*child}: free all nodes that were read ahead,
 * and read the child again alone. */
static hf_status read_due_alone(struct walking *walking,
                                struct hf_tool_read **child)
{
    for (struct family *f = walking->top; f != NULL; f = f->above)
        drop_ahead(walking, f);
    hf_tool_read_free(*child);
    walking->ahead_max = 1;
    walking->top->started = --walking->top->next;
    return read_due(walking, child);
}

/* Adapt how many nodes may be read ahead to the size of ${child}, which was
 * read. */
static void adapt_ahead(struct walking *walking,
                        const struct hf_tool_read *child)
{
    if (child->charged > LARGE_BYTES)
        walking->ahead_max = 1;
    else if (walking->ahead_max < AHEAD_MAX)
        walking->ahead_max++;
}

/* May ${child} be entered? */
static hf_status check_bounds(struct walking *walking,
                              const struct hf_tool_read *child)
{
    if (child->over_budget)
        return hf_error_set(walking->error, HF_ELIMIT,
                            "the names on the way to a node of depth %u take "
                            "more than %u MiB; expected a tree that is less "
                            "deep or wide, or one that has an end",
                            child->node.depth, KEPT_BYTES_MAX >> 20);
    if (++walking->entered > NODES_MAX)
        return hf_error_set(walking->error, HF_ELIMIT,
                            "there are more than %d nodes; expected fewer: "
                            "name a node further down",
                            NODES_MAX);
    return HF_OK;
}

/* Enter the next child of the top. */
static hf_status enter_next(struct walking *walking)
{
    struct hf_tool_read *child;
    hf_status status = read_due(walking, &child);

    if (status == HF_OK && child->over_budget)
        status = read_due_alone(walking, &child);
    if (status != HF_OK)
        return status;
    adapt_ahead(walking, child);
    status = check_bounds(walking, child);
    if (status == HF_OK && child->node.status != HF_EGONE)
        return enter(walking, child);
    hf_tool_read_free(child);
    return status;
}

/* All children of the top of the stack were visited: call .leave for its node,
 * and remove it. */
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
    struct walking walking = {.tool = tool,
                              .walk = walk,
                              .ahead_max = AHEAD_FIRST,
                              .budget = {0, KEPT_BYTES_MAX},
                              .error = error};
    hf_status status = enter_first(&walking, path);

    while (status == HF_OK && walking.top != NULL)
        status = walking.top->next < walking.top->node->name_count
                     ? enter_next(&walking)
                     : leave(&walking);
    while (walking.top != NULL)
        pop(&walking);
    return status;
}
