/* SPDX-License-Identifier: Apache-2.0 */
/* A path is checked component by component, and each by its characters. */
#include "zookeeper/zk_path.h"

#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "core/path_character.h"
#include "core/utf8.h"

/* Why the ${bytes} of ${component} cannot be part of a path, or NULL. */
static const char *component_why_refused(const char *component, size_t bytes)
{
    size_t length;

    if (bytes == 0)
        return "an empty component, or a '/' at its end";
    if ((bytes == 1 && component[0] == '.') ||
        (bytes == 2 && memcmp(component, "..", 2) == 0))
        return "a component \".\" or \"..\"";
    for (size_t at = 0; at < bytes; at += length) {
        uint32_t code = 0;

        length = hf_utf8_decode(component + at, bytes - at, &code);
        assert(length > 0); /* the caller has checked the UTF-8 */
        if (hf_path_character_why_refused(code) != NULL)
            return hf_path_character_why_refused(code);
    }
    return NULL;
}

/* Each iteration takes a '/' and the component after it. */
const char *hf_zk_path_why_refused(const char *path)
{
    const char *fault = NULL;

    assert(path[0] == '/');
    while (fault == NULL && path[0] == '/') {
        size_t bytes = strcspn(path + 1, "/");

        fault = component_why_refused(path + 1, bytes);
        path += 1 + bytes;
    }
    return fault;
}
