/* SPDX-License-Identifier: Apache-2.0 */
/* holdfast torture: set contenders against each other on an engine, torment
 * them, and judge what happened. */
#ifndef HF_TORTURE_TORTURE_H
#define HF_TORTURE_TORTURE_H

/* `holdfast torture`, with argv[0] "torture": the exit status. */
int hf_torture_main(int argc, char **argv);

#endif
