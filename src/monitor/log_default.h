/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The log of a program that has no .on_log: lines on stderr, if HOLDFAST_LOG
 * asks for them.  Each has where its client is (struct hf_log_origin).
 *
 *     HOLDFAST_LOG=debug        holdfast[4711]: debug: "a" was granted ...
 *     HOLDFAST_LOG=info,json    {"time":"2026-11-21T16:33:00Z", ...}
 *     HOLDFAST_LOG=json         the same as warning,json
 */
#ifndef HF_MONITOR_LOG_DEFAULT_H
#define HF_MONITOR_LOG_DEFAULT_H

#include <stddef.h>

#include <holdfast/client.h>

#include "monitor/log.h"

/* ${on_log} if it has a function.  Otherwise the one that HOLDFAST_LOG asks
 * for, whose argument must be the struct hf_log_origin of the line; or none.  A
 * set-user-id program ignores the variable. */
struct hf_on_log hf_log_choose(struct hf_on_log on_log);

/* Does HOLDFAST_LOG ask for a log? */
bool hf_log_is_chosen(void);

/* Does it ask for lines of JSON? */
bool hf_log_is_json(void);

/* Write ${line}, which has no control characters, to the ${bytes} of ${text} as
 * a line of JSON that ends with a newline.  Nothing is cut if ${bytes} is twice
 * the length of ${line} and HF_LOG_JSON_BYTES more, or greater; it must be more
 * than HF_LOG_JSON_BYTES.  Returns how many bytes are written; no NUL follows
 * them. */
size_t hf_log_format_json(char *text, size_t bytes, enum hf_log_level level,
                          const struct hf_log_origin *origin, const char *line);

/* What a line of JSON has besides its text. */
#define HF_LOG_JSON_BYTES (160 + 2 * sizeof(struct hf_log_origin))

#endif
