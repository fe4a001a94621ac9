/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a file of `holdfast zk import` or, by the first byte, of
 * `holdfast zk txn`.  Properties: what is read can be sent, what is refused has
 * a text that says what was expected, and base64 has one form. */
#include <string.h>

#include "base/memory.h"
#include "base/utf8.h"
#include "fuzz.h"
#include "zookeeper/zk_path.h"
#include "zookeeper_tool/base64.h"
#include "zookeeper_tool/import_file.h"
#include "zookeeper_tool/input.h"
#include "zookeeper_tool/txn_line.h"

static void check_refused(hf_status status, const struct hf_error *error)
{
    MUST(status == HF_EINVAL);
    MUST(error->status == HF_EINVAL);
    MUST(strstr(error->text, "expected") != NULL ||
         strlen(error->text) + 4 >= HF_ERROR_TEXT_BYTES);
    MUST(hf_utf8_valid(error->text, strlen(error->text)));
}

/* ---------------------------------------------------------------- import -- */

static void check_node(const struct hf_tool_import_node *node)
{
    const struct hf_zookeeper_op *op = &node->create;

    MUST(op->kind == 0 || op->kind == HF_ZOOKEEPER_CREATE);
    MUST(hf_zk_path_why_refused(op->path, false) == NULL);
    MUST(op->data != NULL || op->bytes == 0);
    MUST(node->bytes >= op->bytes + strlen(op->path));
    MUST(op->acl_count > 0);
    for (size_t i = 0; i < op->acl_count; i++) {
        MUST(op->acls[i].permissions >= 0);
        MUST(op->acls[i].permissions <= HF_ZOOKEEPER_PERM_ALL);
        MUST(strchr(op->acls[i].scheme, ':') == NULL);
        MUST(op->acls[i].id != NULL);
    }
}

/* The bytes of ${op}, encoded and decoded, are the same. */
static void check_base64(const struct hf_zookeeper_op *op)
{
    char *text;
    size_t bytes;

    if (op->data == NULL)
        return;
    text = hf_base64_encode(op->data, op->bytes);
    MUST(text != NULL);
    MUST(hf_base64_decode(text, &bytes));
    MUST(bytes == op->bytes && memcmp(text, op->data, bytes) == 0);
    hf_free(text);
}

static void read_import(FILE *in)
{
    struct hf_tool_import_file file = {.in = in, .base = "/base"};
    struct hf_tool_import_node node;
    struct hf_error error;
    hf_status status = hf_tool_import_begin(&file, &error);

    while (status == HF_OK) {
        status = hf_tool_import_next(&file, &node, &error);
        if (status != HF_OK)
            break;
        check_node(&node);
        check_base64(&node.create);
        hf_tool_import_node_free(&node);
    }
    if (status != HF_EGONE)
        check_refused(status, &error);
}

/* ------------------------------------------------------------------- txn -- */

static void check_op(const struct hf_zookeeper_op *op)
{
    if (op->kind == 0)
        return;
    MUST(hf_zk_path_why_refused(op->path,
                                op->mode == HF_ZOOKEEPER_SEQUENTIAL) == NULL);
    MUST(op->version >= HF_ZOOKEEPER_ANY_VERSION);
    MUST(op->data != NULL || op->bytes == 0);
    MUST(op->kind != HF_ZOOKEEPER_SET || op->data != NULL);
}

static void read_txn(FILE *in)
{
    struct hf_tool_line line = {.number = 0};
    struct hf_error error;
    hf_status status;

    while ((status = hf_tool_line_read(in, &line, &error)) == HF_OK) {
        struct hf_zookeeper_op op;

        status = hf_tool_parse_txn_line(line.text, &op, &error);
        if (status == HF_OK)
            check_op(&op);
        else
            check_refused(status, &error);
        hf_free(line.text);
    }
    if (status != HF_EGONE)
        check_refused(status, &error);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    char *text;
    FILE *in;

    if (bytes < 2)
        return 0;
    text = fuzz_text(data + 1, bytes - 1);
    in = fmemopen(text, bytes - 1, "r");
    MUST(in != NULL);
    if (data[0] == 't')
        read_txn(in);
    else
        read_import(in);
    fclose(in);
    free(text);
    return 0;
}
