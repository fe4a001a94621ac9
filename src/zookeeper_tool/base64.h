/* SPDX-License-Identifier: Apache-2.0 */
/* Base64 (RFC 4648, section 4), in which JSON has the bytes of nodes. */
#ifndef HF_ZOOKEEPER_TOOL_BASE64_H
#define HF_ZOOKEEPER_TOOL_BASE64_H

#include <stdbool.h>
#include <stddef.h>

/* The ${bytes} of ${data} as text, which the caller frees with hf_free(); NULL
 * without memory. */
char *hf_base64_encode(const void *data, size_t bytes);

/* Decode ${text}, with its padding, in its own memory; ${bytes} is set to how
 * many there are.  False if it is no base64, or could be written in another
 * way. */
bool hf_base64_decode(char *text, size_t *bytes);

#endif
