/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The characters that can deceive the reader of a terminal, in order: control
 * characters, and those that are invisible, reorder others or separate lines.
 * Written by utf8_hidden.py, which says by which properties, from the Unicode
 * Character Database 15.0.0.
 */
#ifndef HF_BASE_UTF8_HIDDEN_H
#define HF_BASE_UTF8_HIDDEN_H

#include <stdint.h>

/* clang-format off */
static const struct {
    uint32_t first, last;
} hf_utf8_hidden[] = {
    {0x0000, 0x001F},
    {0x007F, 0x009F},
    {0x00AD, 0x00AD},
    {0x034F, 0x034F},
    {0x061C, 0x061C},
    {0x115F, 0x1160},
    {0x17B4, 0x17B5},
    {0x180B, 0x180F},
    {0x200B, 0x200F},
    {0x2028, 0x202E},
    {0x2060, 0x206F},
    {0x3164, 0x3164},
    {0xFE00, 0xFE0F},
    {0xFEFF, 0xFEFF},
    {0xFFA0, 0xFFA0},
    {0xFFF0, 0xFFFB},
    {0x13430, 0x1343F},
    {0x1BCA0, 0x1BCA3},
    {0x1D173, 0x1D17A},
    {0xE0000, 0xE0FFF},
};
/* clang-format on */

#endif
