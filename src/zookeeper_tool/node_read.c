/* SPDX-License-Identifier: Apache-2.0 */
/* See node_read.h.  A result is valid only during its callback, so the callback
 * copies what is needed. */
#include "zookeeper_tool/node_read.h"

#include <string.h>

#include "base/error.h"
#include "base/memory.h"

static void set_failure(struct hf_tool_read *read, hf_status status,
                        const char *text)
{
    if (read->error.status != HF_OK)
        return;
    read->node.status = hf_error_set(&read->error, status, "%s", text);
    read->node.text = read->error.text;
}

static void fail_memory(struct hf_tool_read *read)
{
    set_failure(read, HF_ENOMEM, "no memory is left");
}

/* --------------------------------------------------------------- budget -- */

/* Take ${bytes} from the budget.  If fewer are left, fail the node and return
 * false. */
static bool charge(struct hf_tool_read *read, size_t bytes)
{
    struct hf_tool_read_budget *budget = read->budget;

    if (bytes > budget->max - budget->used) {
        read->over_budget = true;
        set_failure(read, HF_ELIMIT,
                    "the nodes on the way take too much memory");
        return false;
    }
    budget->used += bytes;
    read->charged += bytes;
    return true;
}

static void discharge(struct hf_tool_read *read, size_t bytes)
{
    read->budget->used -= bytes;
    read->charged -= bytes;
}

/* Allocate ${bytes} for a part of an answer, and take them from the budget.  If
 * that fails, fail the node and return NULL. */
static void *keep(struct hf_tool_read *read, size_t bytes)
{
    void *kept = NULL;

    if (!charge(read, bytes))
        return NULL;
    if ((kept = hf_alloc(bytes)) == NULL)
        fail_memory(read);
    return kept;
}

/* As keep(), for data and access lists, which are freed earlier than the
 * rest. */
static void *keep_data(struct hf_tool_read *read, size_t bytes)
{
    size_t charged = read->charged;
    void *kept = keep(read, bytes);

    read->data_bytes += read->charged - charged;
    return kept;
}

/* -------------------------------------------------------------- results -- */

/* Must the child ${name} be left out? */
static bool is_left_out(const struct hf_tool_read *read, const char *name)
{
    return read->without_system && strcmp(read->path, "/") == 0 &&
           strcmp(name, "zookeeper") == 0;
}

/* Copy the names of the children to one piece of memory: pointers, then texts.
 */
static void copy_names(struct hf_tool_read *read,
                       const struct hf_zookeeper_result *result)
{
    size_t bytes = result->child_count * sizeof *read->names;
    char *text;

    for (size_t i = 0; i < result->child_count; i++)
        bytes += strlen(result->children[i]) + 1;
    if (bytes == 0)
        return;
    if ((read->names = keep(read, bytes)) == NULL)
        return;
    text = (char *)(read->names + result->child_count);
    for (size_t i = 0; i < result->child_count; i++) {
        size_t length = strlen(result->children[i]) + 1;

        if (is_left_out(read, result->children[i]))
            continue;
        read->names[read->name_count++] =
            memcpy(text, result->children[i], length);
        text += length;
    }
    hf_tool_sort(read->names, read->name_count);
}

static void copy_data(struct hf_tool_read *read,
                      const struct hf_zookeeper_result *result)
{
    if (result->data == NULL)
        return;
    /* One byte more than needed, so that .data is not NULL if there are no
     * bytes. */
    if ((read->data = keep_data(read, result->bytes + 1)) == NULL)
        return;
    memcpy(read->data, result->data, result->bytes);
    read->node.data = read->data;
    read->node.bytes = result->bytes;
}

/* Copy the access list to one piece of memory: entries, then their texts.  The
 * node gets no list if the answer has none, or if keep_data() has failed the
 * node. */
static void copy_acls(struct hf_tool_read *read,
                      const struct hf_zookeeper_result *result)
{
    size_t bytes = result->acl_count * sizeof *read->acls;
    char *text;

    if (bytes == 0)
        return;
    for (size_t i = 0; i < result->acl_count; i++)
        bytes +=
            strlen(result->acls[i].scheme) + strlen(result->acls[i].id) + 2;
    if ((read->acls = keep_data(read, bytes)) == NULL)
        return;
    text = (char *)(read->acls + result->acl_count);
    for (size_t i = 0; i < result->acl_count; i++) {
        const struct hf_zookeeper_acl *acl = &result->acls[i];
        size_t scheme = strlen(acl->scheme) + 1, id = strlen(acl->id) + 1;

        read->acls[i] = (struct hf_zookeeper_acl){
            acl->permissions, memcpy(text, acl->scheme, scheme),
            memcpy(text + scheme, acl->id, id)};
        text += scheme + id;
    }
    read->node.acls = read->acls;
    read->node.acl_count = result->acl_count;
}

static void on_done(void *arg, const struct hf_zookeeper_result *result)
{
    struct hf_tool_read *read = arg;

    read->pending--;
    if (result->status != HF_OK) {
        set_failure(read, result->status, result->text);
        return;
    }
    if (result->has_stat)
        read->node.stat = result->stat;
    copy_names(read, result);
    copy_data(read, result);
    copy_acls(read, result);
}

/* -------------------------------------------------------------- reading -- */

static void start_op(struct hf_tool_read *read, enum hf_zookeeper_op_kind kind)
{
    const struct hf_zookeeper_op op = {.kind = kind, .path = read->path};
    const struct hf_zookeeper_done done = {on_done, read, NULL};
    struct hf_error error;
    hf_status status;

    read->pending++;
    status = hf_zookeeper_start(read->tool->zookeeper, &op,
                                hf_tool_wait(read->tool), done, NULL);
    if (status == HF_OK)
        return;
    read->pending--;
    hf_tool_error(&error);
    set_failure(read, status, error.text);
}

struct hf_tool_read *hf_tool_read_start(struct hf_tool *tool, const char *path,
                                        unsigned depth,
                                        const struct hf_tool_read_opts *opts)
{
    struct hf_tool_read *read = hf_alloc(sizeof *read);
    char *copy = hf_strdup(path);

    if (read == NULL || copy == NULL) {
        hf_free(read);
        hf_free(copy);
        return NULL;
    }
    read->tool = tool;
    read->budget = opts->budget;
    read->without_system = opts->without_system;
    read->node.path = read->path = copy;
    read->node.depth = depth;
    if (!charge(read, sizeof *read + strlen(path) + 1))
        return read;
    if (opts->data)
        start_op(read, HF_ZOOKEEPER_GET);
    if (opts->acls)
        start_op(read, HF_ZOOKEEPER_GET_ACL);
    if (opts->children)
        start_op(read, HF_ZOOKEEPER_CHILDREN);
    else if (!opts->data)
        start_op(read, HF_ZOOKEEPER_EXISTS);
    return read;
}

void hf_tool_read_wait(struct hf_tool_read *read)
{
    while (read->pending > 0)
        (void)hf_tool_dispatch(read->tool, -1);
    if (read->node.status != HF_OK)
        read->name_count = 0;
}

void hf_tool_read_drop_data(struct hf_tool_read *read)
{
    hf_free(read->data);
    hf_free(read->acls);
    discharge(read, read->data_bytes);
    read->data_bytes = 0;
    read->data = read->acls = NULL;
    read->node.data = read->node.acls = NULL;
    read->node.bytes = read->node.acl_count = 0;
}

void hf_tool_read_free(struct hf_tool_read *read)
{
    hf_tool_read_wait(read);
    hf_tool_read_drop_data(read);
    discharge(read, read->charged);
    hf_free(read->names);
    hf_free(read->path);
    hf_free(read);
}
