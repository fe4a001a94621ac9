/* SPDX-License-Identifier: Apache-2.0 */
/* holdfast verify: check a history that was recorded before. */
#ifndef HF_TORTURE_VERIFY_H
#define HF_TORTURE_VERIFY_H

/* `holdfast verify`, with argv[0] "verify".  Returns the exit status. */
int hf_verify_main(int argc, char **argv);

#endif
