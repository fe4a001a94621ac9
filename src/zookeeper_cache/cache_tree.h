/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The nodes of a cache: what is known of each, what has to be read, and which
 * changes the user has not been notified of.  Without I/O, threads or locks.
 *
 * Three rules make it right whatever the order of events and answers.
 *
 * An event changes nothing.  It marks the node it is about as to be read, and
 * only an answer changes what is known.  If an event comes while the node is
 * being read, the node is read once more, because the answer may be older than
 * the event.  At most one read of a node is under way, so that answers come in
 * the order of the states that they show.
 *
 * A list of children only adds.  A child that is not in it is read itself: it
 * is gone when the server says so.
 *
 * A node is known only while the one above it is.  So a query sees no node
 * without its parent.
 *
 * Where the server reports every creation and deletion (.recursive), the
 * children of a node are listed once.  A later Stat that shows other children
 * causes no list, because events have named them already.  After a new
 * connection events may be missing, so the next Stat of each node is compared
 * with what was known (HF_CACHE_COMPARE).
 *
 * What is reported is kept as two contents of each node: what the user was
 * notified of last, and what is known.  So changes that wait cost no memory of
 * their own, and are at most as many as there are nodes.
 */
#ifndef HF_ZOOKEEPER_CACHE_CACHE_TREE_H
#define HF_ZOOKEEPER_CACHE_CACHE_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/tree.h"
#include "zookeeper_cache/cache_content.h"

/* The reads that a node needs; a sum of them. */
enum hf_cache_want {
    HF_CACHE_DATA = 1,     /* with the Stat */
    HF_CACHE_STAT = 2,     /* the Stat alone */
    HF_CACHE_CHILDREN = 4, /* their names */
    /* With the Stat: events may be missing, so compare it with what was
     * known. */
    HF_CACHE_COMPARE = 8,
};

/* In a circular list; .next is NULL in none. */
struct hf_cache_link {
    struct hf_cache_link *next;
    struct hf_cache_link *previous;
};

/* A node.  It is in the tree while something of it is known, to be read, under
 * way or to be reported, while it is .unreadable or while it has children.  The
 * root is always there. */
struct hf_cache_node {
    struct hf_tree_node by_name; /* among the children of .parent */
    struct hf_cache_node *parent;
    struct hf_tree_node *children;     /* the root of their tree */
    struct hf_cache_content *current;  /* NULL: not there, or not known */
    struct hf_cache_content *reported; /* to the user; NULL: not there */
    struct hf_cache_link to_read;
    struct hf_cache_link to_report;
    /* .children has all children up to this transaction; -1: they are not
     * known. */
    int64_t children_zxid;
    void *user;     /* the user of the tree owns it */
    uint8_t wanted; /* enum hf_cache_want, of the next read */
    uint8_t asked;  /* of the read under way; 0: none is */
    /* A read has failed, and not because there is no node. */
    bool unreadable : 1;
    bool listed : 1;  /* while a list of children is compared */
    uint8_t failures; /* hf_cache_tree_failed() since the last answer */
    uint32_t bytes;   /* of .name */
    char name[];      /* not NUL-terminated */
};

struct hf_cache_tree {
    struct hf_cache_node *root;
    char *path;     /* of .root */
    uint64_t depth; /* the levels below .root that are kept */
    bool without_data;
    bool recursive;    /* each creation and deletion is reported */
    bool reports;      /* the user wants to be notified of changes */
    bool starved;      /* there was no memory for something that is to be read
                          again; the user clears it */
    size_t unreadable; /* nodes whose .unreadable is set */
    size_t reading;    /* nodes with a read under way */
    struct hf_cache_link to_read;
    struct hf_cache_link to_report;
    struct hf_cache_link marker; /* in .to_report */
    /* ${node} is about to be freed, with its .user; may be NULL. */
    void (*release)(struct hf_cache_node *node);
};

/* Initialise a tree for ${path}, a valid one.  Nothing is to be read yet.
 * False: no memory. */
bool hf_cache_tree_init(struct hf_cache_tree *tree, const char *path,
                        uint64_t depth, bool without_data, bool reports);

/* Free everything.  No read is under way. */
void hf_cache_tree_free(struct hf_cache_tree *tree);

/* The node ${path} in ${tree}, or NULL.  ${path} is that of the tree or below
 * it, see hf_cache_tree_covers(). */
struct hf_cache_node *hf_cache_tree_find(const struct hf_cache_tree *tree,
                                         const char *path);
bool hf_cache_tree_covers(const struct hf_cache_tree *tree, const char *path);

/* The length of the path of ${node}, without a NUL.  The second one writes the
 * path, without a NUL, to ${path}. */
size_t hf_cache_tree_path_bytes(const struct hf_cache_tree *tree,
                                const struct hf_cache_node *node);
void hf_cache_tree_put_path(const struct hf_cache_tree *tree,
                            const struct hf_cache_node *node, char *path);

/* The first node of the children of ${node}; the one behind ${node} among its
 * siblings.  NULL: none. */
struct hf_cache_node *hf_cache_tree_child(const struct hf_cache_node *node);
struct hf_cache_node *hf_cache_tree_sibling(const struct hf_cache_node *node);

/* A walk over ${top} and all nodes below it, children before their parents: its
 * first node, and the one behind ${node}, or NULL. */
struct hf_cache_node *hf_cache_tree_first_leaf(struct hf_cache_node *top);
struct hf_cache_node *hf_cache_tree_after(const struct hf_cache_node *top,
                                          const struct hf_cache_node *node);

/* ---------------------------------------- to be read: cache_tree_reads.c -- */

/* Have ${wanted} of ${node} be read. */
void hf_cache_tree_want(struct hf_cache_tree *tree, struct hf_cache_node *node,
                        unsigned wanted);

/* The server has reported an event of the ${bytes} of ${path}, which is that of
 * the tree or below it. */
void hf_cache_tree_event(struct hf_cache_tree *tree,
                         enum hf_zookeeper_event_kind kind, const char *path,
                         size_t bytes);

/* Events may be missing: have every node be compared. */
void hf_cache_tree_compare_all(struct hf_cache_tree *tree);

/* Is nothing to be read, and no read under way? */
bool hf_cache_tree_idle(const struct hf_cache_tree *tree);

/* Begin the next read: the node, and in ${kind} a GET, an EXISTS or a CHILDREN.
 * NULL: nothing is to be read. */
struct hf_cache_node *hf_cache_tree_begin(struct hf_cache_tree *tree,
                                          enum hf_zookeeper_op_kind *kind);

/* The server has answered the read of ${node}: HF_OK, HF_EGONE, or that the
 * node cannot be read. */
void hf_cache_tree_answered(struct hf_cache_tree *tree,
                            struct hf_cache_node *node,
                            const struct hf_zookeeper_result *result);

/* The read of ${node} got no answer: it is still to be read. */
void hf_cache_tree_unanswered(struct hf_cache_tree *tree,
                              struct hf_cache_node *node);

/* The read of ${node} has failed at the server, which says nothing of the node:
 * it is still to be read.  False, and nothing was done, if it has failed
 * HF_CACHE_FAILURES_MAX times in a row already: then the failure is its
 * answer. */
#define HF_CACHE_FAILURES_MAX 5
bool hf_cache_tree_failed(struct hf_cache_tree *tree,
                          struct hf_cache_node *node);

/* ------------------------------------------ to be reported: cache_tree.c -- */

/* Have .marker be reported behind the changes that wait now. */
void hf_cache_tree_mark(struct hf_cache_tree *tree);

/* The next node with a change to report.  NULL: there is none, or .marker was
 * the next; then ${marked} is true, and it has been taken out. */
struct hf_cache_node *hf_cache_tree_next_change(struct hf_cache_tree *tree,
                                                bool *marked);

/* Take the change of ${node}, which may be freed by that: set ${before} to what
 * was reported last, and ${after} to what is known.  Each may be NULL, or is a
 * reference that the caller releases. */
void hf_cache_tree_take_change(struct hf_cache_tree *tree,
                               struct hf_cache_node *node,
                               struct hf_cache_content **before,
                               struct hf_cache_content **after);

/* ----------------- what cache_tree_reads.c needs of cache_tree.c besides -- */

/* Put ${link} at the end of ${list}, a circular list; take it out of its list,
 * unless it is in none. */
void hf_cache_link_append(struct hf_cache_link *list,
                          struct hf_cache_link *link);
void hf_cache_link_remove(struct hf_cache_link *link);

/* The child of ${parent} with the ${bytes} of ${name}; NULL: none. */
struct hf_cache_node *hf_cache_tree_named(const struct hf_cache_node *parent,
                                          const char *name, size_t bytes);

/* As hf_cache_tree_named(), but a child that is not there is added.  NULL: no
 * memory. */
struct hf_cache_node *hf_cache_tree_add(struct hf_cache_node *parent,
                                        const char *name, size_t bytes);

/* Free ${node}, unless it is still needed.  True if it was freed. */
bool hf_cache_tree_trim_one(struct hf_cache_tree *tree,
                            struct hf_cache_node *node);

/* As hf_cache_tree_trim_one(), and then free the nodes above it that are not
 * needed any more. */
void hf_cache_tree_trim(struct hf_cache_tree *tree, struct hf_cache_node *node);

/* .current of ${node} has changed: it is to be reported, or not any more. */
void hf_cache_tree_changed(struct hf_cache_tree *tree,
                           struct hf_cache_node *node);

#endif
