/* SPDX-License-Identifier: Apache-2.0 */
#include "base/sha256.h"

#include <string.h>

#define BLOCK_BYTES 64

/* FIPS 180-4, 4.2.2: the first 32 bits of the fractional parts of the cube
 * roots of the first 64 primes. */
static const uint32_t k[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1,
    0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3,
    0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786,
    0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147,
    0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13,
    0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b,
    0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a,
    0x5b9cca4f, 0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208,
    0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

static uint32_t rotate(uint32_t x, unsigned by)
{
    return x >> by | x << (32 - by);
}

static uint32_t load(const uint8_t *from)
{
    return (uint32_t)from[0] << 24 | (uint32_t)from[1] << 16 |
           (uint32_t)from[2] << 8 | from[3];
}

static void store(uint8_t *to, uint32_t x)
{
    for (unsigned i = 0; i < 4; i++)
        to[i] = (uint8_t)(x >> (24 - 8 * i));
}

/* FIPS 180-4, 6.2.2 step 1: the message schedule. */
static void schedule(uint32_t w[64], const uint8_t *block)
{
    for (size_t t = 0; t < 16; t++)
        w[t] = load(block + 4 * t);
    for (unsigned t = 16; t < 64; t++) {
        uint32_t a = w[t - 15];
        uint32_t b = w[t - 2];

        w[t] = (rotate(b, 17) ^ rotate(b, 19) ^ b >> 10) + w[t - 7] +
               (rotate(a, 7) ^ rotate(a, 18) ^ a >> 3) + w[t - 16];
    }
}

/* FIPS 180-4, 6.2.2 steps 2 to 4.  ${v} holds the variables a to h. */
static void compress(uint32_t h[8], const uint8_t *block)
{
    uint32_t w[64];
    uint32_t v[8];

    schedule(w, block);
    memcpy(v, h, sizeof(v));
    for (unsigned t = 0; t < 64; t++) {
        uint32_t s1 = rotate(v[4], 6) ^ rotate(v[4], 11) ^ rotate(v[4], 25);
        uint32_t choice = (v[4] & v[5]) ^ (~v[4] & v[6]);
        uint32_t t1 = v[7] + s1 + choice + k[t] + w[t];
        uint32_t s0 = rotate(v[0], 2) ^ rotate(v[0], 13) ^ rotate(v[0], 22);
        uint32_t majority = (v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]);

        memmove(v + 1, v, 7 * sizeof(v[0]));
        v[4] += t1;
        v[0] = t1 + s0 + majority;
    }
    for (unsigned i = 0; i < 8; i++)
        h[i] += v[i];
}

/* Hash the last one or two blocks: the rest of the message, a one bit, zeros,
 * and the length in bits. */
static void finish(uint32_t h[8], const uint8_t *rest, size_t bytes,
                   uint64_t total)
{
    uint8_t tail[2 * BLOCK_BYTES] = {0};
    size_t end = bytes < BLOCK_BYTES - 8 ? BLOCK_BYTES : 2 * BLOCK_BYTES;

    if (bytes > 0)
        memcpy(tail, rest, bytes);
    tail[bytes] = 0x80;
    store(tail + end - 8, (uint32_t)(total * 8 >> 32));
    store(tail + end - 4, (uint32_t)(total * 8));
    for (size_t at = 0; at < end; at += BLOCK_BYTES)
        compress(h, tail + at);
}

void hf_sha256(const void *data, size_t bytes, uint8_t digest[HF_SHA256_BYTES])
{
    /* 5.3.3: the square roots of the first eight primes. */
    uint32_t h[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                     0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    const uint8_t *at = data;
    size_t left = bytes;

    for (; left >= BLOCK_BYTES; left -= BLOCK_BYTES, at += BLOCK_BYTES)
        compress(h, at);
    finish(h, at, left, bytes);
    for (size_t i = 0; i < 8; i++)
        store(digest + 4 * i, h[i]);
}

void hf_sha256_text(const void *data, size_t bytes,
                    char text[HF_SHA256_TEXT_BYTES])
{
    static const char digits[] = "0123456789abcdef";
    uint8_t digest[HF_SHA256_BYTES];

    hf_sha256(data, bytes, digest);
    for (size_t i = 0; i < HF_SHA256_BYTES; i++) {
        text[2 * i] = digits[digest[i] >> 4];
        text[2 * i + 1] = digits[digest[i] & 15];
    }
    text[HF_SHA256_TEXT_BYTES - 1] = '\0';
}
