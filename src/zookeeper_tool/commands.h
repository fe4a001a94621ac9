/* SPDX-License-Identifier: Apache-2.0 */
/* The commands of `holdfast zk`.  Each gets its words, of which the first is
 * its name, and returns the exit status. */
#ifndef HF_ZOOKEEPER_TOOL_COMMANDS_H
#define HF_ZOOKEEPER_TOOL_COMMANDS_H

int hf_tool_acl_main(int argc, char **argv);
int hf_tool_create_main(int argc, char **argv);
int hf_tool_export_main(int argc, char **argv);
int hf_tool_get_main(int argc, char **argv);
int hf_tool_import_main(int argc, char **argv);
int hf_tool_ls_main(int argc, char **argv);
int hf_tool_rm_main(int argc, char **argv);
int hf_tool_set_main(int argc, char **argv);
int hf_tool_stat_main(int argc, char **argv);
int hf_tool_tree_main(int argc, char **argv);
int hf_tool_txn_main(int argc, char **argv);
int hf_tool_watch_main(int argc, char **argv);

#endif
