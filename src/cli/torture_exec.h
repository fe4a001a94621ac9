/* SPDX-License-Identifier: Apache-2.0 */
/* The commands torture and verify, which are in a program of their own,
 * holdfast-torture. */
#ifndef HF_CLI_TORTURE_EXEC_H
#define HF_CLI_TORTURE_EXEC_H

/* `holdfast torture` and `holdfast verify`: become `holdfast-torture` with the
 * words of ${argv}, of which the first is the command.  Returns only if that
 * cannot be run, which it has said on stderr: HF_EXIT_NOT_FOUND or
 * HF_EXIT_NOT_RUN. */
int hf_torture_exec_main(int argc, char **argv);

#endif
