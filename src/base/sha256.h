/* SPDX-License-Identifier: Apache-2.0 */
/* SHA-256 (FIPS 180-4).  Used to give long names a short digest, not for
 * secrets. */
#ifndef HF_BASE_SHA256_H
#define HF_BASE_SHA256_H

#include <stddef.h>
#include <stdint.h>

#define HF_SHA256_BYTES 32
#define HF_SHA256_TEXT_BYTES 65 /* hex digits and the NUL */

/* Set ${digest} to the digest of the ${bytes} of ${data}. */
void hf_sha256(const void *data, size_t bytes, uint8_t digest[HF_SHA256_BYTES]);

/* Set ${text} to the digest in lower-case hex. */
void hf_sha256_text(const void *data, size_t bytes,
                    char text[HF_SHA256_TEXT_BYTES]);

#endif
