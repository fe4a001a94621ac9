/* SPDX-License-Identifier: Apache-2.0 */
/* holdfast verify: judge what contenders of a lock did and were told. */
#ifndef HF_TORTURE_VERIFY_H
#define HF_TORTURE_VERIFY_H

/* `holdfast verify`, with argv[0] "verify": the exit status. */
int hf_verify_main(int argc, char **argv);

#endif
