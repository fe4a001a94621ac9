/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A walk through a tree of nodes, in the order of names: a node, then what is
 * below it.
 *
 * It does not recurse, and it does not keep the tree: it keeps the names of the
 * children of each node on the way to the present one, because a server answers
 * with all of them at once, and at most 64 nodes that were read ahead.  So the
 * memory depends on the families on the way, and not on the size of the tree.
 * Nodes are read ahead so that a round trip is not paid for each.
 *
 * A server may lie, and a tree have no end: the walk fails when what it keeps
 * takes 256 MiB, or after a hundred million nodes.
 *
 * It is no snapshot.  A node that is deleted meanwhile is passed over.
 */
#ifndef HF_ZOOKEEPER_TOOL_TREE_WALK_H
#define HF_ZOOKEEPER_TOOL_TREE_WALK_H

#include "zookeeper_tool/node_read.h"

/* A function that a walk calls for each node.  Anything but HF_OK ends the
 * walk. */
typedef hf_status hf_tool_visit(void *arg, const struct hf_tool_node *node);

struct hf_tool_walk {
    bool data;          /* read the data, too */
    bool acls;          /* and the access lists */
    bool skip_system;   /* pass over /zookeeper, which the servers need */
    unsigned depth_max; /* do not go below; UINT_MAX: all */
    hf_tool_visit *enter;
    hf_tool_visit *leave; /* after all below it; without data.  May be NULL */
    void *arg;
};

/* Walk through ${path} and all below it.  HF_OK; what a visit returned; or why
 * ${path} could not be read, or HF_ELIMIT or HF_ENOMEM, with ${error}. */
hf_status hf_tool_walk_tree(struct hf_tool *tool, const char *path,
                            const struct hf_tool_walk *walk,
                            struct hf_error *error);

#endif
