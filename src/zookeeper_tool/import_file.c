/* SPDX-License-Identifier: Apache-2.0 */
/* See import_file.h. */
#include "zookeeper_tool/import_file.h"

#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/quote.h"
#include "zookeeper_tool/acl_text.h"
#include "zookeeper_tool/base64.h"
#include "zookeeper_tool/input.h"
#include "zookeeper_tool/json_line.h"
#include "zookeeper_tool/operand.h"

/* The format that we read. */
#define FORMAT 1

/* What a create needs besides its texts and data, at most. */
#define FRAME_BYTES 64

/* Put the number of the line in front of the text of ${error}. */
static hf_status at_line(const struct hf_tool_import_file *file,
                         struct hf_error *error)
{
    char where[40];

    (void)snprintf(where, sizeof where, "line %lu", file->line);
    hf_error_prefix(error, where);
    return error->status;
}

/* Read a line.  HF_EGONE: there is none. */
static hf_status read_line(struct hf_tool_import_file *file, char **text,
                           struct hf_error *error)
{
    struct hf_tool_line line = {.number = file->line};
    hf_status status = hf_tool_line_read(file->in, &line, error);

    file->line = line.number;
    *text = line.text;
    return status;
}

hf_status hf_tool_import_begin(struct hf_tool_import_file *file,
                               struct hf_error *error)
{
    struct hf_tool_json_value values[] = {
        {.key = "holdfast_zk_export", .kind = HF_TOOL_JSON_NUMBER},
        {.key = "of", .kind = HF_TOOL_JSON_TEXT},
    };
    char *line;
    hf_status status = read_line(file, &line, error);

    if (status == HF_EGONE)
        return hf_error_set(error, HF_EINVAL,
                            "the file is empty; expected the output of "
                            "'holdfast zk export'");
    if (status != HF_OK)
        return status;
    status = hf_tool_json_read(line, values, 2, error);
    if (status != HF_OK)
        status = at_line(file, error);
    else if (values[0].number != FORMAT)
        status = hf_error_set(error, HF_EINVAL,
                              "line 1: holdfast_zk_export is not %d; expected "
                              "the output of 'holdfast zk export', or a later "
                              "version of holdfast",
                              FORMAT);
    hf_free(line);
    return status;
}

/* ----------------------------------------------------------------- node -- */

/* The values of a line. */
enum { PATH, MODE, ACL, DATA, NODES, VALUES };

/* The path that is called ${below} in the file. */
static char *make_path(const struct hf_tool_import_file *file,
                       const char *below)
{
    return strcmp(below, "/") == 0 ? hf_strdup(file->base)
                                   : hf_tool_join(file->base, below + 1);
}

static hf_status read_path(const struct hf_tool_import_file *file,
                           const struct hf_tool_json_value *value,
                           struct hf_tool_import_node *node,
                           struct hf_error *error)
{
    hf_status status;

    if (value->text == NULL)
        return hf_error_set(error, HF_EINVAL,
                            "there is no path; expected \"path\": \"/...\"");
    status = hf_tool_check_path(value->text, false, error);
    if (status != HF_OK)
        return status;
    node->path = make_path(file, value->text);
    if (node->path == NULL)
        return hf_error_set(error, HF_ENOMEM, "no memory is left");
    node->create.path = node->path;
    return HF_OK;
}

static hf_status read_mode(const struct hf_tool_json_value *value,
                           struct hf_tool_import_node *node,
                           struct hf_error *error)
{
    const char *mode = value->text != NULL ? value->text : "";

    node->create.mode = HF_ZOOKEEPER_PERSISTENT;
    if (strcmp(mode, "persistent") == 0)
        node->create.kind = HF_ZOOKEEPER_CREATE;
    else if (strcmp(mode, "ephemeral") != 0)
        return hf_error_set(error, HF_EINVAL,
                            "the mode %s; expected persistent or ephemeral",
                            hf_quote(mode, strlen(mode)).text);
    return HF_OK;
}

static hf_status read_acls(const struct hf_tool_json_value *value,
                           struct hf_tool_import_node *node,
                           struct hf_error *error)
{
    if (value->count == 0)
        return hf_error_set(error, HF_EINVAL,
                            "there is no access list; expected \"acl\": "
                            "[\"world:anyone:cdrwa\"] or the like");
    node->acls = hf_alloc(value->count * sizeof *node->acls);
    if (node->acls == NULL)
        return hf_error_set(error, HF_ENOMEM, "no memory is left");
    for (size_t i = 0; i < value->count; i++) {
        hf_status status =
            hf_tool_parse_acl(value->list[i], &node->acls[i], error);

        if (status != HF_OK)
            return status;
        node->bytes += FRAME_BYTES + strlen(node->acls[i].scheme) +
                       strlen(node->acls[i].id);
    }
    node->create.acls = node->acls;
    node->create.acl_count = value->count;
    return HF_OK;
}

static hf_status read_data(const struct hf_tool_json_value *value,
                           struct hf_tool_import_node *node,
                           struct hf_error *error)
{
    if (!value->given)
        return hf_error_set(error, HF_EINVAL,
                            "there are no data; expected \"data_base64\", null "
                            "for absent data");
    if (value->text == NULL)
        return HF_OK;
    node->create.data = value->text;
    if (hf_base64_decode(value->text, &node->create.bytes))
        return HF_OK;
    return hf_error_set(error, HF_EINVAL,
                        "data_base64 is no base64; expected digits of RFC "
                        "4648, with padding");
}

/* Read the ${values} of a node. */
static hf_status read_node(struct hf_tool_import_file *file,
                           const struct hf_tool_json_value *values,
                           struct hf_tool_import_node *node,
                           struct hf_error *error)
{
    hf_status status = read_path(file, &values[PATH], node, error);

    if (status == HF_OK)
        status = read_mode(&values[MODE], node, error);
    if (status == HF_OK)
        status = read_acls(&values[ACL], node, error);
    if (status == HF_OK)
        status = read_data(&values[DATA], node, error);
    if (status != HF_OK)
        return status;
    node->bytes += FRAME_BYTES + strlen(node->path) + node->create.bytes;
    file->nodes++;
    return HF_OK;
}

/* The last line: does it have the number of nodes, and is it the last? */
static hf_status read_end(struct hf_tool_import_file *file, uint64_t nodes,
                          struct hf_error *error)
{
    char *line;
    hf_status status;

    if (nodes != file->nodes)
        return hf_error_set(error, HF_EINVAL,
                            "the file has %llu nodes; expected the %llu that "
                            "were exported",
                            (unsigned long long)file->nodes,
                            (unsigned long long)nodes);
    status = read_line(file, &line, error);
    if (status != HF_OK)
        return status;
    hf_free(line);
    return hf_error_set(error, HF_EINVAL,
                        "a line after the last one; expected one export in a "
                        "file");
}

/* Read the text of ${node}, a line. */
static hf_status read_text(struct hf_tool_import_file *file,
                           struct hf_tool_import_node *node,
                           struct hf_error *error)
{
    struct hf_tool_json_value values[VALUES] = {
        [PATH] = {.key = "path", .kind = HF_TOOL_JSON_TEXT},
        [MODE] = {.key = "mode", .kind = HF_TOOL_JSON_TEXT},
        [ACL] = {.key = "acl", .kind = HF_TOOL_JSON_LIST},
        [DATA] = {.key = "data_base64", .kind = HF_TOOL_JSON_TEXT},
        [NODES] = {.key = "nodes", .kind = HF_TOOL_JSON_NUMBER},
    };
    hf_status status = hf_tool_json_read(node->text, values, VALUES, error);

    if (status == HF_OK)
        status = values[NODES].given
                     ? read_end(file, values[NODES].number, error)
                     : read_node(file, values, node, error);
    hf_free(values[ACL].list);
    return status == HF_OK || status == HF_EGONE ? status
                                                 : at_line(file, error);
}

hf_status hf_tool_import_next(struct hf_tool_import_file *file,
                              struct hf_tool_import_node *node,
                              struct hf_error *error)
{
    hf_status status;

    *node = (struct hf_tool_import_node){.path = NULL};
    status = read_line(file, &node->text, error);
    node->line = file->line;
    if (status == HF_EGONE)
        return hf_error_set(error, HF_EINVAL,
                            "the file ends after line %lu, without the line "
                            "that says how many nodes there are; expected all "
                            "of the output of 'holdfast zk export'",
                            file->line - 1);
    if (status == HF_OK)
        status = read_text(file, node, error);
    if (status != HF_OK)
        hf_tool_import_node_free(node);
    return status;
}

void hf_tool_import_node_free(struct hf_tool_import_node *node)
{
    hf_free(node->path);
    hf_free(node->acls);
    hf_free(node->text);
    *node = (struct hf_tool_import_node){.path = NULL};
}
