/* SPDX-License-Identifier: Apache-2.0 */
/* holdfast revoke: ask owners of tickets to release them. */
#ifndef HF_CLI_REVOKE_H
#define HF_CLI_REVOKE_H

/* `holdfast revoke`, with argv[0] "revoke".  Returns the exit status. */
int hf_revoke_main(int argc, char **argv);

#endif
