/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The nodes of a cache: what is known of each, what has to be read, and which
 * changes the user was not notified of.  Nothing here does I/O, or uses threads
 * or locks.
 *
 * Three rules make the result independent of the order of events and answers.
 *
 * An event does not change what is known.  It marks its node as to be read, and
 * only an answer changes what is known.  If an event comes while the node is
 * being read, the node is read once more, because the answer may be older than
 * the event.  At most one read of a node is under way, so that answers come in
 * the order of the states that they show.
 *
 * A list of children only adds nodes.  If a known child is missing in the list,
 * the child itself is read, and is removed when that read shows that it is
 * gone.
 *
 * A node is known only while its parent is known.  So a query sees no node
 * without its parent.
 *
 * If the server reports every creation and deletion (.recursive), the children
 * of a node are listed once.  A later Stat that shows other children causes no
 * list, because events have named them already.  After a new connection events
 * may be missing, so the next Stat of each node is compared with what was known
 * (HF_CACHE_COMPARE).
 *
 * Each node has two contents: the one that the user was last notified of, and
 * the current one.  If they differ, a change is to be reported.  So waiting
 * changes need no memory of their own, and there is at most one for each node.
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
    /* Together with HF_CACHE_STAT: events may have been missed, so the Stat is
     * compared with what was known. */
    HF_CACHE_COMPARE = 8,
};

/* An element of a circular list; .next is NULL if it is in no list. */
struct hf_cache_link {
    struct hf_cache_link *next;
    struct hf_cache_link *previous;
};

/* A node.  It is kept in the tree while it is known, to be read, being read, to
 * be reported or .unreadable, and while it has children.  The root is always
 * kept. */
struct hf_cache_node {
    struct hf_tree_node by_name; /* among the children of .parent */
    struct hf_cache_node *parent;
    struct hf_tree_node *children;     /* the root of their tree */
    struct hf_cache_content *current;  /* what is known; NULL: the node does not
                                          exist, or is not known */
    struct hf_cache_content *reported; /* what the user was last notified of;
                                          NULL: that it does not exist */
    struct hf_cache_link to_read;
    struct hf_cache_link to_report;
    /* .children has all children that existed at this transaction (pzxid); -1:
     * they are not known. */
    int64_t children_zxid;
    void *user;     /* for the user of the tree, who owns it */
    uint8_t wanted; /* what is to be read, enum hf_cache_want */
    uint8_t asked;  /* what the read under way reads; 0: none is under way */
    /* A read has failed for another reason than that the node does not
     * exist. */
    bool unreadable : 1;
    bool listed : 1;  /* used while a list of children is compared */
    uint8_t failures; /* calls of hf_cache_tree_failed() since the last
                         answer */
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
    bool starved;      /* there was no memory for an answer, so its node is to
                          be read again later; cleared by the user of the
                          tree */
    size_t unreadable; /* nodes whose .unreadable is set */
    size_t reading;    /* nodes with a read under way */
    struct hf_cache_link to_read;
    struct hf_cache_link to_report;
    struct hf_cache_link marker; /* in .to_report if hf_cache_tree_mark() was
                                    called */
    /* Called before ${node} is freed, to free its .user; may be NULL. */
    void (*release)(struct hf_cache_node *node);
};

/* Initialise a tree for ${path}, which must be valid.  No node is to be read
 * yet.  False: no memory. */
bool hf_cache_tree_init(struct hf_cache_tree *tree, const char *path,
                        uint64_t depth, bool without_data, bool reports);

/* Free everything.  No read may be under way. */
void hf_cache_tree_free(struct hf_cache_tree *tree);

/* hf_cache_tree_find() returns the node ${path} of ${tree}, or NULL.
 * hf_cache_tree_covers() must be true: ${path} is the path of the tree, or
 * below it. */
struct hf_cache_node *hf_cache_tree_find(const struct hf_cache_tree *tree,
                                         const char *path);
bool hf_cache_tree_covers(const struct hf_cache_tree *tree, const char *path);

/* hf_cache_tree_path_bytes() returns the length of the path of ${node}.
 * hf_cache_tree_put_path() writes the path, without a NUL, to ${path}. */
size_t hf_cache_tree_path_bytes(const struct hf_cache_tree *tree,
                                const struct hf_cache_node *node);
void hf_cache_tree_put_path(const struct hf_cache_tree *tree,
                            const struct hf_cache_node *node, char *path);

/* hf_cache_tree_child() returns the first child of ${node},
 * hf_cache_tree_sibling() the next sibling of ${node}, in the order of names.
 * NULL: none. */
struct hf_cache_node *hf_cache_tree_child(const struct hf_cache_node *node);
struct hf_cache_node *hf_cache_tree_sibling(const struct hf_cache_node *node);

/* Walk over ${top} and all nodes below it, children before their parents.
 * hf_cache_tree_first_leaf() returns the first node, hf_cache_tree_after() the
 * node after ${node}; NULL at the end. */
struct hf_cache_node *hf_cache_tree_first_leaf(struct hf_cache_node *top);
struct hf_cache_node *hf_cache_tree_after(const struct hf_cache_node *top,
                                          const struct hf_cache_node *node);

/* ---------------------------------------- to be read: cache_tree_reads.c -- */

/* Mark ${wanted} (a sum of enum hf_cache_want) of ${node} as to be read. */
void hf_cache_tree_want(struct hf_cache_tree *tree, struct hf_cache_node *node,
                        unsigned wanted);

/* Mark what must be read because the server has reported an event of ${path},
 * which has ${bytes} bytes and is the path of the tree or below it. */
void hf_cache_tree_event(struct hf_cache_tree *tree,
                         enum hf_zookeeper_event_kind kind, const char *path,
                         size_t bytes);

/* Mark every node to be compared, because events may have been missed. */
void hf_cache_tree_compare_all(struct hf_cache_tree *tree);

/* Is no node to be read, and no read under way? */
bool hf_cache_tree_idle(const struct hf_cache_tree *tree);

/* Begin the next read: return its node, and set ${kind} to HF_ZOOKEEPER_GET,
 * _EXISTS or _CHILDREN.  NULL: no node is to be read.  The caller sends the
 * read, and calls one of the next three functions when it has ended. */
struct hf_cache_node *hf_cache_tree_begin(struct hf_cache_tree *tree,
                                          enum hf_zookeeper_op_kind *kind);

/* Take in ${result}, the answer to the read of ${node}: HF_OK, HF_EGONE, or an
 * error because the node cannot be read. */
void hf_cache_tree_answered(struct hf_cache_tree *tree,
                            struct hf_cache_node *node,
                            const struct hf_zookeeper_result *result);

/* The read of ${node} got no answer: mark the same again as to be read. */
void hf_cache_tree_unanswered(struct hf_cache_tree *tree,
                              struct hf_cache_node *node);

/* The server has failed to answer the read of ${node}, which shows nothing
 * about the node: mark the same again as to be read.  After
 * HF_CACHE_FAILURES_MAX such failures in a row, do nothing and return false;
 * the failure must then be passed to hf_cache_tree_answered(). */
#define HF_CACHE_FAILURES_MAX 5
bool hf_cache_tree_failed(struct hf_cache_tree *tree,
                          struct hf_cache_node *node);

/* ------------------------------------------ to be reported: cache_tree.c -- */

/* Put .marker behind the changes that are to be reported now, so that the user
 * is notified when all of them have been reported. */
void hf_cache_tree_mark(struct hf_cache_tree *tree);

/* The next node with a change to report; NULL if there is none.  If .marker
 * comes next, it is removed, ${marked} is set to true, and NULL is returned. */
struct hf_cache_node *hf_cache_tree_next_change(struct hf_cache_tree *tree,
                                                bool *marked);

/* Take the change of ${node}: set ${before} to the content that was reported
 * last, and ${after} to the current one.  Each is NULL or a reference that the
 * caller releases.  ${node} may be freed. */
void hf_cache_tree_take_change(struct hf_cache_tree *tree,
                               struct hf_cache_node *node,
                               struct hf_cache_content **before,
                               struct hf_cache_content **after);

/* ----------------- what cache_tree_reads.c needs of cache_tree.c besides -- */

/* hf_cache_link_append() adds ${link} at the end of ${list}.
 * hf_cache_link_remove() removes ${link} from its list, if it is in one. */
void hf_cache_link_append(struct hf_cache_link *list,
                          struct hf_cache_link *link);
void hf_cache_link_remove(struct hf_cache_link *link);

/* The child ${name}, of ${bytes} bytes, of ${parent}; NULL: none. */
struct hf_cache_node *hf_cache_tree_named(const struct hf_cache_node *parent,
                                          const char *name, size_t bytes);

/* As hf_cache_tree_named(), but add the child if it does not exist.  NULL: no
 * memory. */
struct hf_cache_node *hf_cache_tree_add(struct hf_cache_node *parent,
                                        const char *name, size_t bytes);

/* Free ${node}, unless it is still needed.  True if it was freed. */
bool hf_cache_tree_trim_one(struct hf_cache_tree *tree,
                            struct hf_cache_node *node);

/* As hf_cache_tree_trim_one(), and then free the nodes above it that are not
 * needed any more. */
void hf_cache_tree_trim(struct hf_cache_tree *tree, struct hf_cache_node *node);

/* To be called when .current of ${node} has changed: mark the change as to be
 * reported, or remove the mark if nothing differs from what was reported. */
void hf_cache_tree_changed(struct hf_cache_tree *tree,
                           struct hf_cache_node *node);

#endif
