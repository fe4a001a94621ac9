/* SPDX-License-Identifier: Apache-2.0 */
/* The list of the commands of `holdfast zk`.  Each command is a file, which has
 * its table of options and a function hf_tool_NAME_main().  The function gets
 * the words of the command, its name first, and returns the exit status. */
#ifndef HF_ZOOKEEPER_TOOL_COMMANDS_H
#define HF_ZOOKEEPER_TOOL_COMMANDS_H

#include "command/command_line.h"

/* A row for each command: its name, and what it does. */
#define HF_TOOL_COMMANDS(ROW)                                                  \
    ROW(get, "print the data of a node")                                       \
    ROW(set, "replace the data of a node")                                     \
    ROW(create, "create a node")                                               \
    ROW(rm, "delete a node, or a tree")                                        \
    ROW(ls, "list the children of a node")                                     \
    ROW(stat, "print the Stat of a node")                                      \
    ROW(tree, "print a tree of nodes")                                         \
    ROW(watch, "print what happens to a node")                                 \
    ROW(acl, "print or replace access lists")                                  \
    ROW(txn, "carry out all lines of a file, or none")                         \
    ROW(export, "write a tree to a file")                                      \
    ROW(import, "create a tree from such a file")

#define HF_TOOL_DECLARE(name, about)                                           \
    extern const struct hf_command hf_tool_##name##_command;                   \
    int hf_tool_##name##_main(int argc, char **argv);

HF_TOOL_COMMANDS(HF_TOOL_DECLARE)

#endif
