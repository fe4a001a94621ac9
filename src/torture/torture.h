/* SPDX-License-Identifier: Apache-2.0 */
/*
 * holdfast torture: start workers that want a lock, kill and freeze them at
 * random, and check what they recorded.
 */
#ifndef HF_TORTURE_TORTURE_H
#define HF_TORTURE_TORTURE_H

/* `holdfast torture`, with argv[0] "torture".  Returns the exit status. */
int hf_torture_main(int argc, char **argv);

#endif
