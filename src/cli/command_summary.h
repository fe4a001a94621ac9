/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The part of a command that other users may see in `holdfast show`, unless
 * --text replaces it.
 */
#ifndef HF_CLI_COMMAND_SUMMARY_H
#define HF_CLI_COMMAND_SUMMARY_H

#include <holdfast/lock.h>

#define HF_COMMAND_SUMMARY_BYTES (HF_OWNER_TEXT_BYTES + 1)

/* Write to ${text} what ${argv} runs: the name of the program and, if that is
 * a well-known interpreter, the name of its script or module ("bash
 * deploy.sh", "python3 -m http.server", "sh -c").  Never more of the
 * arguments, because they may be secret.  "" if the name may not stand in a
 * ticket. */
void hf_command_summary(char **argv, char text[HF_COMMAND_SUMMARY_BYTES]);

#endif
