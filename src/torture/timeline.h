/* SPDX-License-Identifier: Apache-2.0 */
/* A history, or the part of it that shows what went wrong, as an SVG 1.1
 * image: a row for each client, time from left to right. */
#ifndef HF_TORTURE_TIMELINE_H
#define HF_TORTURE_TIMELINE_H

#include <stdio.h>

#include "torture/checker.h"

/* Write it to ${file}, whose error flag tells of failures. */
void hf_timeline_write(FILE *file, const struct hf_history *history,
                       const struct hf_check_result *result);

#endif
