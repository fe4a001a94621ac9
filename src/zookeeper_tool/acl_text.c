/* SPDX-License-Identifier: Apache-2.0 */
/* See acl_text.h. */
#include "zookeeper_tool/acl_text.h"

#include <string.h>

#include "base/error.h"
#include "base/quote.h"

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
