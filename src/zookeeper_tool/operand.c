/* SPDX-License-Identifier: Apache-2.0 */
/* See operand.h. */
#include "zookeeper_tool/operand.h"

#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/quote.h"
#include "base/url_options.h"
#include "zookeeper/zk_path.h"

hf_status hf_tool_check_new_path(const char *path, bool sequential,
                                 struct hf_error *error)
{
    const char *why = hf_zk_path_why_refused(path, sequential);

    if (why == NULL)
        return HF_OK;
    return hf_error_set(error, HF_EINVAL,
                        "the path %s has %s; expected one that ZooKeeper "
                        "takes, such as /a/b",
                        hf_quote(path, strlen(path)).text, why);
}

hf_status hf_tool_check_path(const char *path, struct hf_error *error)
{
    return hf_tool_check_new_path(path, false, error);
}

bool hf_tool_parse_version(const char *text, int32_t *version)
{
    uint64_t number;

    if (!hf_url_parse_number(text, &number) || number > INT32_MAX)
        return false;
    *version = (int32_t)number;
    return true;
}

hf_status hf_tool_option_version(const struct hf_option_row *row,
                                 const char *name, const char *text,
                                 void *field, struct hf_error *error)
{
    (void)row;
    if (hf_tool_parse_version(text, field))
        return HF_OK;
    return hf_error_set(error, HF_EINVAL,
                        "%s '%.80s': expected a number from 0 to 2147483647, "
                        "as 'holdfast zk stat' shows it",
                        name, text);
}

char *hf_tool_join(const char *path, const char *name)
{
    size_t length = strcmp(path, "/") == 0 ? 0 : strlen(path);
    char *joined = hf_alloc(length + strlen(name) + 2);

    if (joined == NULL)
        return NULL;
    memcpy(joined, path, length);
    joined[length] = '/';
    memcpy(joined + length + 1, name, strlen(name) + 1);
    return joined;
}

/* --------------------------------------------------------- access lists -- */

/* The permission that ${letter} is, or 0. */
static int32_t permission_of(char letter)
{
    switch (letter) {
    case 'c':
        return HF_ZOOKEEPER_PERM_CREATE;
    case 'd':
        return HF_ZOOKEEPER_PERM_DELETE;
    case 'r':
        return HF_ZOOKEEPER_PERM_READ;
    case 'w':
        return HF_ZOOKEEPER_PERM_WRITE;
    case 'a':
        return HF_ZOOKEEPER_PERM_ADMIN;
    default:
        return 0;
    }
}

hf_status hf_tool_parse_acl(char *text, struct hf_zookeeper_acl *acl,
                            struct hf_error *error)
{
    char *first = strchr(text, ':'), *last = strrchr(text, ':');
    int32_t permissions = 0;

    if (first == NULL || first == text || first == last)
        return hf_error_set(error, HF_EINVAL,
                            "%s is no entry of an access list; expected "
                            "SCHEME:ID:PERMISSIONS, such as world:anyone:r",
                            hf_quote(text, strlen(text)).text);
    for (const char *letter = last + 1; *letter != '\0'; letter++) {
        if (permission_of(*letter) == 0)
            return hf_error_set(error, HF_EINVAL,
                                "%s has the permission '%.1s'; expected "
                                "letters of cdrwa behind the last ':', and "
                                "each entry as an argument of its own",
                                hf_quote(text, strlen(text)).text, letter);
        permissions |= permission_of(*letter);
    }
    *first = *last = '\0';
    *acl = (struct hf_zookeeper_acl){permissions, text, first + 1};
    return HF_OK;
}
