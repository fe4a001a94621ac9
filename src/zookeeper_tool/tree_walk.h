/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A walk through a tree of nodes, in the order of names: first a node, then all
 * nodes below it.
 *
 * The walk does not recurse, and does not keep the whole tree in memory.  It
 * keeps the names of the children of each node on the way down to the current
 * node, because a server sends all names in one answer.  It also keeps at most
 * 64 nodes that were read ahead, so that it does not wait a round trip for each
 * node.  So its memory does not depend on the size of the tree.
 *
 * A faulty server may send a tree without end.  So the walk fails when it keeps
 * more than 256 MiB, or after a hundred million nodes.
 *
 * The walk is no snapshot.  A node that is deleted meanwhile is left out.
 */
#ifndef HF_ZOOKEEPER_TOOL_TREE_WALK_H
#define HF_ZOOKEEPER_TOOL_TREE_WALK_H

#include "zookeeper_tool/node_read.h"

/* A function that a walk calls for each node.  Anything but HF_OK ends the
 * walk. */
typedef hf_status hf_tool_visit(void *arg, const struct hf_tool_node *node);

struct hf_tool_walk {
    bool data;          /* read the data, too */
    bool acls;          /* read the access lists, too */
    bool skip_system;   /* leave out /zookeeper, which the servers need */
    unsigned depth_max; /* visit only this many levels below the first node;
                           UINT_MAX: all */
    hf_tool_visit *enter;
    hf_tool_visit *leave; /* called after all nodes below it were visited; the
                             node has no data then.  May be NULL */
    void *arg;
};

/* Walk through ${path} and all nodes below it.  HF_OK; the status with which a
 * visit ended the walk; or, with ${error}, HF_ELIMIT, HF_ENOMEM or the reason
 * why ${path} could not be read. */
hf_status hf_tool_walk_tree(struct hf_tool *tool, const char *path,
                            const struct hf_tool_walk *walk,
                            struct hf_error *error);

#endif
