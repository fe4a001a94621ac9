/* SPDX-License-Identifier: Apache-2.0 */
/* ZooKeeper counts in UTF-16, so its exclusion of surrogates excludes
 * everything above U+FFFF as well. */
#include "base/path_character.h"

#include <stddef.h>

#include "base/utf8.h"

const char *hf_path_character_why_refused(uint32_t code)
{
    if (hf_utf8_control(code))
        return "a control character";
    if (code >= 0xE000 && code <= 0xF8FF)
        return "a character of the private use area, which ZooKeeper refuses";
    if (code >= 0xFFF0 && code <= 0xFFFF)
        return "a character of the specials block, which ZooKeeper refuses";
    if (code > 0xFFFF)
        return "a character above U+FFFF, which ZooKeeper refuses";
    return NULL;
}
