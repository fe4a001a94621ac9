/* SPDX-License-Identifier: Apache-2.0 */
/* A path is a sequence of components, each with a '/' in front of it; "/" has
 * none. */
#include "zookeeper/zk_path.h"

#include <string.h>

#include "base/utf8.h"

/* How many of the first characters of ${component} need no closer look:
 * printable ones of ASCII, which almost all are. */
static size_t plain_characters(struct hf_jute_piece component)
{
    const unsigned char *bytes = (const unsigned char *)component.bytes;
    size_t count = 0;

    while (count < component.count && bytes[count] >= ' ' &&
           bytes[count] <= '~')
        count++;
    return count;
}

/* Why a component cannot contain these characters, or NULL. */
static const char *why_no_characters(struct hf_jute_piece component)
{
    size_t length;

    for (size_t at = plain_characters(component); at < component.count;
         at += length) {
        uint32_t code = 0;

        length =
            hf_utf8_decode(component.bytes + at, component.count - at, &code);
        if (length == 0)
            return "bytes that are not UTF-8";
        if (hf_path_character_why_refused(code) != NULL)
            return hf_path_character_why_refused(code);
    }
    return NULL;
}

/* Why ${component} cannot be the whole name of a node, or NULL. */
static const char *why_no_name(struct hf_jute_piece component)
{
    if (component.count == 0)
        return "an empty component, or a '/' at its end";
    if ((component.count == 1 && component.bytes[0] == '.') ||
        (component.count == 2 && memcmp(component.bytes, "..", 2) == 0))
        return "a component \".\" or \"..\"";
    return NULL;
}

const char *hf_zk_path_why_refused(const char *path, bool sequential)
{
    const char *why = NULL;

    if (path[0] != '/')
        return "no '/' at its start";
    if (path[1] == '\0')
        return NULL;
    /* Each iteration takes a '/' and the component after it. */
    while (why == NULL && path != NULL) {
        const char *slash = strchr(path + 1, '/');
        struct hf_jute_piece component = {
            path + 1,
            slash != NULL ? (size_t)(slash - path - 1) : strlen(path + 1)};

        why = why_no_characters(component);
        if (why == NULL && !(sequential && slash == NULL))
            why = why_no_name(component);
        path = slash;
    }
    return why;
}

struct hf_jute_piece hf_zk_path_piece(const char *path)
{
    return (struct hf_jute_piece){path, strlen(path)};
}

struct hf_jute_piece hf_zk_path_below(struct hf_jute_piece path,
                                      struct hf_jute_piece top)
{
    static const struct hf_jute_piece nowhere = {NULL, 0}, root = {"/", 1};

    if (top.count == 1) /* "/": all paths are below it */
        top.count = 0;
    if (path.bytes == NULL || path.count < top.count ||
        memcmp(path.bytes, top.bytes, top.count) != 0)
        return nowhere;
    path.bytes += top.count;
    path.count -= top.count;
    if (path.count == 0)
        return top.count > 0 ? root : nowhere;
    return path.bytes[0] == '/' ? path : nowhere;
}
