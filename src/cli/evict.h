/* SPDX-License-Identifier: Apache-2.0 */
/* holdfast evict: remove a ticket by force. */
#ifndef HF_CLI_EVICT_H
#define HF_CLI_EVICT_H

/* `holdfast evict`, with argv[0] "evict".  Returns the exit status. */
int hf_evict_main(int argc, char **argv);

#endif
