/* SPDX-License-Identifier: Apache-2.0 */
/* The commands of this program.  ${argv}[0] is the name of the command.  Each
 * returns the exit status. */
#ifndef HF_TORTURE_COMMANDS_H
#define HF_TORTURE_COMMANDS_H

/* Start workers that want a lock, kill and freeze them at random, and check
 * what they recorded. */
int hf_torture_main(int argc, char **argv);

/* Check a history that was recorded before. */
int hf_verify_main(int argc, char **argv);

#endif
