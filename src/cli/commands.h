/* SPDX-License-Identifier: Apache-2.0 */
/* The commands that are in this program.  ${argv}[0] is the command's name;
 * each returns the exit status. */
#ifndef HF_CLI_COMMANDS_H
#define HF_CLI_COMMANDS_H

int hf_run_main(int argc, char **argv);
int hf_elect_main(int argc, char **argv);
int hf_hold_main(int argc, char **argv);
int hf_show_main(int argc, char **argv);
int hf_metrics_main(int argc, char **argv);
int hf_ls_main(int argc, char **argv);
int hf_last_main(int argc, char **argv);
int hf_leading_main(int argc, char **argv);
int hf_doctor_main(int argc, char **argv);
int hf_revoke_main(int argc, char **argv);
int hf_evict_main(int argc, char **argv);
int hf_explain_main(int argc, char **argv);
int hf_sql_main(int argc, char **argv);
int hf_version_main(int argc, char **argv);

#endif
