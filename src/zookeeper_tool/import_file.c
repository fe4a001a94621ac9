/* SPDX-License-Identifier: Apache-2.0 */
/* See import_file.h. */
#include "zookeeper_tool/import_file.h"

#include <jansson.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/quote.h"
#include "base/utf8.h"
#include "zookeeper_tool/base64.h"
#include "zookeeper_tool/input.h"
#include "zookeeper_tool/operand.h"

/* The version of the format that we read. */
#define FORMAT 1

/* An upper bound for what a create, or an entry of an access list, needs
 * besides its texts and data. */
#define FRAME_BYTES 64

#define EXPECTED_LINE "expected a line as 'holdfast zk export' writes it"

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

/* ----------------------------------------------------------------- JSON -- */

/* A key that a line may have, and the type of its value. */
struct key {
    const char *name;
    json_type type;
    bool may_be_null;
    const char *expected; /* for texts */
};

/* Is ${value} valid for ${key}?  Numbers must not be negative, and all elements
 * of a list must be strings. */
static bool is_value(const struct key *key, const json_t *value)
{
    if (json_is_null(value))
        return key->may_be_null;
    if (json_typeof(value) != key->type)
        return false;
    for (size_t i = 0; i < json_array_size(value); i++) {
        if (!json_is_string(json_array_get(value, i)))
            return false;
    }
    return !json_is_integer(value) || json_integer_value(value) >= 0;
}

/* Check that ${object} has only keys that are among the ${count} ${keys}, and
 * that their values are valid. */
static hf_status check_keys(json_t *object, const struct key *keys,
                            size_t count, struct hf_error *error)
{
    const char *name;
    json_t *value;

    json_object_foreach(object, name, value)
    {
        size_t i = 0;

        while (i < count && strcmp(keys[i].name, name) != 0)
            i++;
        if (i == count)
            return hf_error_set(
                error, HF_EINVAL,
                "the key %s, which has no meaning here; " EXPECTED_LINE,
                hf_quote(name, strlen(name)).text);
        if (!is_value(&keys[i], value))
            return hf_error_set(error, HF_EINVAL,
                                "the value of \"%s\"; expected %s, as "
                                "'holdfast zk export' writes it",
                                name, keys[i].expected);
    }
    return HF_OK;
}

/* Parse ${text}, which must be an object with no other keys than the ${count}
 * ${keys}, and set ${*object}.  On success the caller releases ${*object}. */
static hf_status parse(const char *text, const struct key *keys, size_t count,
                       json_t **object, struct hf_error *error)
{
    json_error_t why;
    hf_status status;

    *object = json_loads(text, JSON_REJECT_DUPLICATES, &why);
    if (*object == NULL && json_error_code(&why) == json_error_out_of_memory)
        return hf_error_set(error, HF_ENOMEM, "no memory is left");
    if (*object == NULL) {
        hf_utf8_make_printable(why.text, true);
        return hf_error_set(error, HF_EINVAL, "column %d: %s; " EXPECTED_LINE,
                            why.column, why.text);
    }
    if (!json_is_object(*object))
        status = hf_error_set(error, HF_EINVAL,
                              "a list; expected an object, as 'holdfast zk "
                              "export' writes it");
    else
        status = check_keys(*object, keys, count, error);
    if (status != HF_OK)
        json_decref(*object);
    return status;
}

/* The text called ${name} in ${object}; NULL: it has none. */
static const char *text_of(const json_t *object, const char *name)
{
    return json_string_value(json_object_get(object, name));
}

/* ----------------------------------------------------------------- lines -- */

hf_status hf_tool_import_begin(struct hf_tool_import_file *file,
                               struct hf_error *error)
{
    static const struct key keys[] = {
        {"holdfast_zk_export", JSON_INTEGER, false, "a number"},
        {"of", JSON_STRING, true, "a string"},
    };
    json_t *object;
    char *line;
    hf_status status = read_line(file, &line, error);

    if (status == HF_EGONE)
        return hf_error_set(error, HF_EINVAL,
                            "the file is empty; expected the output of "
                            "'holdfast zk export'");
    if (status != HF_OK)
        return status;
    status = parse(line, keys, sizeof keys / sizeof *keys, &object, error);
    hf_free(line);
    if (status != HF_OK)
        return at_line(file, error);
    if (json_integer_value(json_object_get(object, keys[0].name)) != FORMAT)
        status = hf_error_set(error, HF_EINVAL,
                              "line 1: holdfast_zk_export is not %d; expected "
                              "the output of 'holdfast zk export', or a later "
                              "version of holdfast",
                              FORMAT);
    json_decref(object);
    return status;
}

/* ----------------------------------------------------------------- node -- */

/* The keys of a line. */
#define PATH "path"
#define MODE "mode"
#define ACL "acl"
#define DATA "data_base64"
#define NODES "nodes"

/* The path to create for the path ${below} in the file.  The caller frees it
 * with hf_free().  NULL: no memory. */
static char *make_path(const struct hf_tool_import_file *file,
                       const char *below)
{
    return strcmp(below, "/") == 0 ? hf_strdup(file->base)
                                   : hf_tool_join(file->base, below + 1);
}

static hf_status read_path(const struct hf_tool_import_file *file,
                           const json_t *object,
                           struct hf_tool_import_node *node,
                           struct hf_error *error)
{
    const char *path = text_of(object, PATH);
    hf_status status;

    if (path == NULL)
        return hf_error_set(error, HF_EINVAL,
                            "there is no path; expected \"path\": \"/...\"");
    status = hf_tool_check_path(path, error);
    if (status != HF_OK)
        return status;
    node->path = make_path(file, path);
    if (node->path == NULL)
        return hf_error_set(error, HF_ENOMEM, "no memory is left");
    node->create.path = node->path;
    return HF_OK;
}

static hf_status read_mode(const json_t *object,
                           struct hf_tool_import_node *node,
                           struct hf_error *error)
{
    const char *given = text_of(object, MODE);
    const char *mode = given != NULL ? given : "";

    node->create.mode = HF_ZOOKEEPER_PERSISTENT;
    if (strcmp(mode, "persistent") == 0)
        node->create.kind = HF_ZOOKEEPER_CREATE;
    else if (strcmp(mode, "ephemeral") != 0)
        return hf_error_set(error, HF_EINVAL,
                            "the mode %s; expected persistent or ephemeral",
                            hf_quote(mode, strlen(mode)).text);
    return HF_OK;
}

/* Allocate memory for the entries of the access list ${list} and for their
 * texts.  False: no memory. */
static bool allocate_acls(const json_t *list, struct hf_tool_import_node *node)
{
    size_t bytes = 0;

    for (size_t i = 0; i < json_array_size(list); i++)
        bytes += json_string_length(json_array_get(list, i)) + 1;
    node->acls = hf_alloc(json_array_size(list) * sizeof *node->acls);
    node->acl_texts = hf_alloc(bytes);
    return node->acls != NULL && node->acl_texts != NULL;
}

static hf_status read_acls(const json_t *object,
                           struct hf_tool_import_node *node,
                           struct hf_error *error)
{
    const json_t *list = json_object_get(object, ACL);
    char *text;

    if (json_array_size(list) == 0)
        return hf_error_set(error, HF_EINVAL,
                            "there is no access list; expected \"acl\": "
                            "[\"world:anyone:cdrwa\"] or the like");
    if (!allocate_acls(list, node))
        return hf_error_set(error, HF_ENOMEM, "no memory is left");
    text = node->acl_texts;
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *entry = json_array_get(list, i);
        size_t bytes = json_string_length(entry) + 1;
        hf_status status;

        memcpy(text, json_string_value(entry), bytes);
        status = hf_tool_parse_acl(text, &node->acls[i], error);
        if (status != HF_OK)
            return status;
        node->bytes += FRAME_BYTES + strlen(node->acls[i].scheme) +
                       strlen(node->acls[i].id);
        text += bytes;
    }
    node->create.acls = node->acls;
    node->create.acl_count = json_array_size(list);
    return HF_OK;
}

static hf_status read_data(const json_t *object,
                           struct hf_tool_import_node *node,
                           struct hf_error *error)
{
    const char *text = text_of(object, DATA);

    if (json_object_get(object, DATA) == NULL)
        return hf_error_set(error, HF_EINVAL,
                            "there are no data; expected \"data_base64\", null "
                            "for absent data");
    if (text == NULL)
        return HF_OK;
    if ((node->data = hf_strdup(text)) == NULL)
        return hf_error_set(error, HF_ENOMEM, "no memory is left");
    node->create.data = node->data;
    if (hf_base64_decode(node->data, &node->create.bytes))
        return HF_OK;
    return hf_error_set(error, HF_EINVAL,
                        "data_base64 is no base64; expected digits of RFC "
                        "4648, with padding");
}

/* Set ${node} from ${object}, a line. */
static hf_status read_node(struct hf_tool_import_file *file,
                           const json_t *object,
                           struct hf_tool_import_node *node,
                           struct hf_error *error)
{
    hf_status status = read_path(file, object, node, error);

    if (status == HF_OK)
        status = read_mode(object, node, error);
    if (status == HF_OK)
        status = read_acls(object, node, error);
    if (status == HF_OK)
        status = read_data(object, node, error);
    if (status != HF_OK)
        return status;
    node->bytes += FRAME_BYTES + strlen(node->path) + node->create.bytes;
    file->nodes++;
    return HF_OK;
}

/* Check the last line: ${nodes} must be the number of nodes that were read, and
 * no line may follow.  HF_EGONE: all is well. */
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

/* Read ${text}, a line: a node, or the last line.  HF_EGONE after the last
 * line. */
static hf_status read_text(struct hf_tool_import_file *file, const char *text,
                           struct hf_tool_import_node *node,
                           struct hf_error *error)
{
    static const struct key keys[] = {
        {PATH, JSON_STRING, true, "a string"},
        {MODE, JSON_STRING, true, "a string"},
        {ACL, JSON_ARRAY, false, "a list of strings"},
        {DATA, JSON_STRING, true, "a string, or null"},
        {NODES, JSON_INTEGER, false, "a number"},
    };
    const json_t *nodes;
    json_t *object;
    hf_status status =
        parse(text, keys, sizeof keys / sizeof *keys, &object, error);

    if (status != HF_OK)
        return at_line(file, error);
    nodes = json_object_get(object, NODES);
    status = nodes != NULL
                 ? read_end(file, (uint64_t)json_integer_value(nodes), error)
                 : read_node(file, object, node, error);
    json_decref(object);
    return status == HF_OK || status == HF_EGONE ? status
                                                 : at_line(file, error);
}

hf_status hf_tool_import_next(struct hf_tool_import_file *file,
                              struct hf_tool_import_node *node,
                              struct hf_error *error)
{
    hf_status status;
    char *text;

    *node = (struct hf_tool_import_node){.path = NULL};
    status = read_line(file, &text, error);
    node->line = file->line;
    if (status == HF_EGONE)
        return hf_error_set(error, HF_EINVAL,
                            "the file ends after line %lu, without the line "
                            "that says how many nodes there are; expected all "
                            "of the output of 'holdfast zk export'",
                            file->line - 1);
    if (status != HF_OK)
        return status;
    status = read_text(file, text, node, error);
    hf_free(text);
    if (status != HF_OK)
        hf_tool_import_node_free(node);
    return status;
}

void hf_tool_import_node_free(struct hf_tool_import_node *node)
{
    hf_free(node->path);
    hf_free(node->acls);
    hf_free(node->acl_texts);
    hf_free(node->data);
    *node = (struct hf_tool_import_node){.path = NULL};
}
