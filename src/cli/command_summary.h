/* SPDX-License-Identifier: Apache-2.0 */
/* What others may see of a command. */
#ifndef HF_CLI_COMMAND_SUMMARY_H
#define HF_CLI_COMMAND_SUMMARY_H

#include <holdfast/holdfast.h>

#define HF_COMMAND_SUMMARY_BYTES (HF_OWNER_TEXT_BYTES + 1)

/* Write what tells ${argv} apart to ${text}: the name of the command, and where
 * that is a well-known interpreter the name of its script or module
 * ("bash deploy.sh", "python3 -m http.server", "sh -c").  Nothing else of the
 * arguments, because they may be secret.  "" where the name cannot stand in a
 * ticket. */
void hf_command_summary(char **argv, char text[HF_COMMAND_SUMMARY_BYTES]);

#endif
