/* SPDX-License-Identifier: Apache-2.0 */
/* UUIDs (RFC 4122), as bytes and as text in lower case. */
#ifndef HF_BASE_UUID_H
#define HF_BASE_UUID_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/random.h"

#define HF_UUID_BYTES 16
#define HF_UUID_TEXT_BYTES 37 /* with the NUL */

/* Set ${uuid} to a new random UUID (version 4). */
void hf_uuid_random(uint8_t uuid[HF_UUID_BYTES], struct hf_random *random);

/* Write ${uuid} to ${text}. */
void hf_uuid_format(const uint8_t uuid[HF_UUID_BYTES],
                    char text[HF_UUID_TEXT_BYTES]);

/* Set ${uuid} to the one written in the ${bytes} of ${text}.  Returns false if
 * that is no UUID in lower case. */
bool hf_uuid_parse(uint8_t uuid[HF_UUID_BYTES], const char *text, size_t bytes);

#endif
