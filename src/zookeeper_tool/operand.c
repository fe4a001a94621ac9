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
