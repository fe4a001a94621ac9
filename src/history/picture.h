/* SPDX-License-Identifier: Apache-2.0 */
/* A history, or the part of it that shows what went wrong, as an SVG 1.1
 * image: a row for each client, time from left to right. */
#ifndef HF_HISTORY_PICTURE_H
#define HF_HISTORY_PICTURE_H

#include <stdio.h>

#include "history/verdict.h"

/* Write it to ${file}, whose error flag tells of failures. */
void hf_picture_write(FILE *file, const struct hf_history *history,
                      const struct hf_verdict *verdict);

#endif
