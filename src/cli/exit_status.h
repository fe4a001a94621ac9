/* SPDX-License-Identifier: Apache-2.0 */
/* What the exit status of holdfast itself means; see holdfast-run(1). */
#ifndef HF_CLI_EXIT_STATUS_H
#define HF_CLI_EXIT_STATUS_H

#include <holdfast/holdfast.h>

/* The numbers are those of sysexits.h where they fit, so that they do not
 * collide with what commands commonly use. */
enum {
    HF_EXIT_VIOLATION = 1,
    HF_EXIT_NOT_HELD = 1,
    HF_EXIT_USAGE = 64,
    HF_EXIT_DATA = 65,
    HF_EXIT_NO_INPUT = 66,
    HF_EXIT_UNREACHABLE = 69,
    HF_EXIT_BUG = 70,
    HF_EXIT_LIMIT = 71,
    HF_EXIT_DIRECTORY = 73,
    HF_EXIT_BUSY = 75,
    HF_EXIT_LOST = 76,
    HF_EXIT_DENIED = 77,
    HF_EXIT_NOT_RUN = 126,
    HF_EXIT_NOT_FOUND = 127,
    HF_EXIT_SIGNAL = 128
};

/* For a run that failed with ${status}, which is not HF_OK. */
int hf_exit_status(hf_status status);

#endif
