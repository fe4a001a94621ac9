/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Draws a history, or the part that shows the first violation, as an SVG 1.1
 * image: a row for each client, time from left to right, like the timeline of
 * Jepsen.
 */
#ifndef HF_TORTURE_TIMELINE_H
#define HF_TORTURE_TIMELINE_H

#include <stdio.h>

#include "torture/checker.h"

/* Write the image to ${file}.  A failure sets the error flag of ${file}. */
void hf_timeline_write(FILE *file, const struct hf_history *history,
                       const struct hf_check_result *result);

#endif
