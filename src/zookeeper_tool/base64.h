/* SPDX-License-Identifier: Apache-2.0 */
/* Base64 (RFC 4648, section 4), as which the data of nodes are written in
 * JSON. */
#ifndef HF_ZOOKEEPER_TOOL_BASE64_H
#define HF_ZOOKEEPER_TOOL_BASE64_H

#include <stdbool.h>
#include <stddef.h>

/* Encode the ${bytes} bytes of ${data}.  The caller frees the text with
 * hf_free().  NULL: no memory. */
char *hf_base64_encode(const void *data, size_t bytes);

/* Decode ${text}, which has padding, in place, and set ${bytes} to the number
 * of decoded bytes.  False if ${text} is not base64, or is not the one valid
 * encoding of its bytes. */
bool hf_base64_decode(char *text, size_t *bytes);

#endif
