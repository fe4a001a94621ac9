/* SPDX-License-Identifier: Apache-2.0 */
/* Commands that are in a program of their own, which holdfast becomes. */
#ifndef HF_CLI_PROGRAM_EXEC_H
#define HF_CLI_PROGRAM_EXEC_H

#include "command/program_path.h"

/* Become ${program} with the words of ${argv}, of which the first is the
 * command.  Returns only if that cannot be run, which it has said on stderr:
 * HF_EXIT_NOT_FOUND, HF_EXIT_NOT_RUN or HF_EXIT_LIMIT. */
int hf_program_exec(const struct hf_program *program, int argc, char **argv);

#endif
