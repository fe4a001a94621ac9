/* SPDX-License-Identifier: Apache-2.0 */
/* Decodes an answer to a result.  A result is one block of memory: the struct,
 * its arrays, and then its bytes.  Only the result of a multi points to other
 * results, one for each operation.  An answer is read to its end before memory
 * is allocated, so nothing is allocated for a malformed answer.  If the content
 * fits into the block that hf_zk_op_reserve() has made, no other block is
 * needed. */
#include <assert.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "zookeeper/op_codec.h"
#include "zookeeper/protocol.h"
#include "zookeeper/zk_path.h"

/* The result that is made before the answer comes.  .text holds the text of a
 * failure, or the content of an answer. */
struct reserved_result {
    struct hf_zookeeper_result result; /* first */
    char text[HF_ERROR_TEXT_BYTES];
};
static_assert(offsetof(struct reserved_result, text) ==
                  sizeof(struct hf_zookeeper_result),
              "the content of a result is right behind it");

/* An answer that is being read. */
struct op_answer {
    const char *chroot;
    int64_t zxid;
    struct hf_jute_reader body;
    struct hf_zookeeper_result *reserved; /* NULL: another block is needed */
    enum hf_zk_error error;               /* why no result was made */
};

/* ---------------------------------------------------------------- blocks -- */

struct hf_zookeeper_result *hf_zk_op_reserve(void)
{
    struct reserved_result *reserved = hf_alloc(sizeof *reserved);

    if (reserved == NULL)
        return NULL;
    reserved->result.text = reserved->text;
    return &reserved->result;
}

void hf_zookeeper_result_free(struct hf_zookeeper_result *result)
{
    if (result == NULL)
        return;
    for (size_t i = 0; i < result->result_count; i++)
        hf_free((void *)result->results[i]);
    hf_free(result);
}

void hf_zk_op_end(struct hf_zookeeper_result *reserved, hf_status status,
                  const char *format, ...)
{
    struct reserved_result *block = (struct reserved_result *)reserved;
    struct hf_error error;
    char text[HF_ERROR_TEXT_BYTES];
    va_list args;

    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    block->result.status = hf_error_set(&error, status, "%s", text);
    memcpy(block->text, error.text, strlen(error.text) + 1);
}

/* Note ${error} as the reason why no result can be made of ${answer}.  Returns
 * NULL. */
static struct hf_zookeeper_result *no_result(struct op_answer *answer,
                                             enum hf_zk_error error)
{
    answer->error = error;
    return NULL;
}

static struct hf_zookeeper_result *malformed(struct op_answer *answer)
{
    return no_result(answer, HF_ZK_MALFORMED);
}

/* A result with ${bytes} behind it, for an answer that was read to its end.
 * NULL if it was malformed or if there is no memory. */
static struct hf_zookeeper_result *new_result(struct op_answer *answer,
                                              size_t bytes)
{
    struct hf_zookeeper_result *result;

    if (answer->body.failed)
        return malformed(answer);
    result = bytes <= HF_ERROR_TEXT_BYTES && answer->reserved != NULL
                 ? answer->reserved
                 : hf_alloc(sizeof *result + bytes);
    if (result == NULL)
        return no_result(answer, HF_ZK_OUT_OF_MEMORY);
    result->text = "";
    result->zxid = answer->zxid;
    return result;
}

/* Copy ${piece} and a NUL to ${*end}, and move ${*end} behind them.  Returns
 * the copy. */
static const char *copy(char **end, struct hf_jute_piece piece)
{
    char *text = *end;

    if (piece.count > 0)
        memcpy(text, piece.bytes, piece.count);
    text[piece.count] = '\0';
    *end += piece.count + 1;
    return text;
}

/* Can ${piece} be a text in C? */
static bool is_text(struct hf_jute_piece piece)
{
    return piece.bytes != NULL &&
           (piece.count == 0 || memchr(piece.bytes, '\0', piece.count) == NULL);
}

/* ------------------------------------------------------------------ Stat -- */

static void set_stat(struct hf_zookeeper_result *result,
                     const struct hf_zk_stat *stat)
{
    result->has_stat = true;
    result->stat = (struct hf_zookeeper_stat){
        .czxid = stat->czxid,
        .mzxid = stat->mzxid,
        .pzxid = stat->pzxid,
        .created_utc_ms = stat->ctime,
        .modified_utc_ms = stat->mtime,
        .version = stat->version,
        .cversion = stat->cversion,
        .aversion = stat->aversion,
        .ephemeral_owner = stat->owner,
        .bytes = stat->data_bytes,
        .children = stat->children,
    };
}

/* --------------------------------------------------------------- answers -- */

/* SetDataResponse, ExistsResponse, SetACLResponse. */
static struct hf_zookeeper_result *read_stat(struct op_answer *answer)
{
    struct hf_zk_stat stat = hf_zk_get_stat(&answer->body);
    struct hf_zookeeper_result *result = new_result(answer, 0);

    if (result != NULL)
        set_stat(result, &stat);
    return result;
}

/* CreateResponse, or Create2Response. */
static struct hf_zookeeper_result *read_created(struct op_answer *answer,
                                                bool has_stat)
{
    struct hf_jute_piece path = hf_zk_path_below(
        hf_jute_get_buffer(&answer->body), hf_zk_path_piece(answer->chroot));
    struct hf_zk_stat stat = {0};
    struct hf_zookeeper_result *result;
    char *end;

    if (has_stat)
        stat = hf_zk_get_stat(&answer->body);
    if (!is_text(path))
        return malformed(answer);
    result = new_result(answer, path.count + 1);
    if (result == NULL)
        return NULL;
    end = (char *)(result + 1);
    result->path = copy(&end, path);
    if (has_stat)
        set_stat(result, &stat);
    return result;
}

/* GetDataResponse, with which a RECONFIG is answered, too.  .data is NULL only
 * if the node's data are null, not if they have 0 bytes. */
static struct hf_zookeeper_result *read_data(struct op_answer *answer)
{
    struct hf_jute_piece data = hf_jute_get_buffer(&answer->body);
    struct hf_zk_stat stat = hf_zk_get_stat(&answer->body);
    struct hf_zookeeper_result *result = new_result(answer, data.count);

    if (result == NULL)
        return NULL;
    if (data.bytes != NULL)
        result->data = memcpy(result + 1, data.bytes, data.count);
    result->bytes = data.count;
    set_stat(result, &stat);
    return result;
}

/* GetAllChildrenNumberResponse. */
static struct hf_zookeeper_result *read_number(struct op_answer *answer)
{
    int32_t number = hf_jute_get_int(&answer->body);
    struct hf_zookeeper_result *result;

    if (number < 0)
        return malformed(answer);
    result = new_result(answer, 0);
    if (result != NULL)
        result->count = number;
    return result;
}

/* SyncResponse: only the path, which was in the request. */
static struct hf_zookeeper_result *read_synced(struct op_answer *answer)
{
    (void)hf_jute_get_buffer(&answer->body);
    return new_result(answer, 0);
}

/* ----------------------------------------------------------------- lists -- */

/* A list of names or paths in an answer. */
struct text_list {
    struct hf_jute_reader reader; /* at its first element */
    size_t elements;
    bool are_paths;
    struct hf_jute_piece top; /* only paths at or below it are wanted.  Servers
                                 compare texts, so they send what is below
                                 "/ab" with what is below "/a". */
};

/* Read the next element; returns a null piece if it is not wanted.  Sets
 * .failed of ${reader} if the element is no text. */
static struct hf_jute_piece get_element(const struct op_answer *answer,
                                        const struct text_list *list,
                                        struct hf_jute_reader *reader)
{
    struct hf_jute_piece element = hf_jute_get_buffer(reader);

    if (!is_text(element)) {
        reader->failed = true;
        return (struct hf_jute_piece){NULL, 0};
    }
    if (!list->are_paths)
        return element;
    if (hf_zk_path_below(element, list->top).bytes == NULL)
        return (struct hf_jute_piece){NULL, 0};
    return hf_zk_path_below(element, hf_zk_path_piece(answer->chroot));
}

/* Skip a list in the answer, and set ${list} so that set_list() can read it.
 * Returns the bytes that a result needs for the list. */
static size_t pass_list(struct op_answer *answer, struct text_list *list)
{
    size_t bytes;

    list->elements = hf_jute_get_count(&answer->body, 4);
    list->reader = answer->body;
    bytes = list->elements * sizeof(char *);
    for (size_t i = 0; i < list->elements && !answer->body.failed; i++)
        bytes += get_element(answer, list, &answer->body).count + 1;
    return bytes;
}

/* Fill ${result} with ${list}. */
static void set_list(struct hf_zookeeper_result *result,
                     const struct op_answer *answer, struct text_list *list)
{
    const char **children = (const char **)(result + 1);
    char *end = (char *)(children + list->elements);

    for (size_t i = 0; i < list->elements; i++) {
        struct hf_jute_piece element = get_element(answer, list, &list->reader);

        if (element.bytes != NULL)
            children[result->child_count++] = copy(&end, element);
    }
    result->children = children;
}

/* GetChildrenResponse, or GetChildren2Response. */
static struct hf_zookeeper_result *read_children(struct op_answer *answer,
                                                 bool has_stat)
{
    struct text_list list = {.are_paths = false};
    size_t bytes = pass_list(answer, &list);
    struct hf_zk_stat stat = {0};
    struct hf_zookeeper_result *result;

    if (has_stat)
        stat = hf_zk_get_stat(&answer->body);
    result = new_result(answer, bytes);
    if (result == NULL)
        return NULL;
    set_list(result, answer, &list);
    if (has_stat)
        set_stat(result, &stat);
    return result;
}

/* GetEphemeralsResponse. */
static struct hf_zookeeper_result *
read_ephemerals(struct op_answer *answer, const struct hf_zk_op_record *record)
{
    struct text_list list = {.are_paths = true, .top = record->path};
    size_t bytes = pass_list(answer, &list);
    struct hf_zookeeper_result *result = new_result(answer, bytes);

    if (result != NULL)
        set_list(result, answer, &list);
    return result;
}

/* ---------------------------------------------------------- access lists -- */

/* The next text of an access list.  Null is taken for "": servers send null for
 * a user whom they cannot name. */
static struct hf_jute_piece get_text(struct hf_jute_reader *reader)
{
    struct hf_jute_piece text = hf_jute_get_buffer(reader);

    if (text.bytes != NULL && !is_text(text))
        reader->failed = true;
    return text;
}

/* GetACLResponse, or WhoAmIResponse, which has neither permissions nor a
 * Stat. */
static struct hf_zookeeper_result *read_acls(struct op_answer *answer,
                                             bool of_node)
{
    size_t entries = hf_jute_get_count(&answer->body, of_node ? 12 : 8);
    struct hf_jute_reader list = answer->body;
    size_t bytes = entries * sizeof(struct hf_zookeeper_acl);
    struct hf_zk_stat stat = {0};
    struct hf_zookeeper_result *result;
    struct hf_zookeeper_acl *acls;
    char *end;

    for (size_t i = 0; i < entries && !answer->body.failed; i++) {
        if (of_node)
            (void)hf_jute_get_int(&answer->body);
        bytes += get_text(&answer->body).count + 1;
        bytes += get_text(&answer->body).count + 1;
    }
    if (of_node)
        stat = hf_zk_get_stat(&answer->body);
    result = new_result(answer, bytes);
    if (result == NULL)
        return NULL;
    acls = (struct hf_zookeeper_acl *)(result + 1);
    end = (char *)(acls + entries);
    for (size_t i = 0; i < entries; i++) {
        acls[i].permissions = of_node ? hf_jute_get_int(&list) : 0;
        acls[i].scheme = copy(&end, get_text(&list));
        acls[i].id = copy(&end, get_text(&list));
    }
    result->acls = acls;
    result->acl_count = entries;
    if (of_node)
        set_stat(result, &stat);
    return result;
}

/* ------------------------------------------------------------ one answer -- */

/* Read the answer to an operation that is no multi and did not fail.
 * ${opcode} is the type of the answer: within a multi a create2 may be
 * answered like a create. */
static struct hf_zookeeper_result *
read_single(struct op_answer *answer, const struct hf_zk_op_record *record,
            enum hf_zk_opcode opcode)
{
    switch (opcode) {
    case HF_ZK_CREATE:
        return read_created(answer, false);
    case HF_ZK_CREATE2:
    case HF_ZK_CREATE_CONTAINER:
    case HF_ZK_CREATE_TTL:
        return read_created(answer, true);
    case HF_ZK_EXISTS:
    case HF_ZK_SET_DATA:
    case HF_ZK_SET_ACL:
        return read_stat(answer);
    case HF_ZK_GET_DATA:
    case HF_ZK_RECONFIG:
        return read_data(answer);
    case HF_ZK_GET_CHILDREN:
        return read_children(answer, false);
    case HF_ZK_GET_CHILDREN2:
        return read_children(answer, true);
    case HF_ZK_GET_EPHEMERALS:
        return read_ephemerals(answer, record);
    case HF_ZK_GET_ALL_CHILDREN_NUMBER:
        return read_number(answer);
    case HF_ZK_GET_ACL:
        return read_acls(answer, true);
    case HF_ZK_WHO_AM_I:
        return read_acls(answer, false);
    case HF_ZK_SYNC:
        return read_synced(answer);
    default: /* DELETE, CHECK, ADD_WATCH, AUTH: no content */
        return new_result(answer, 0);
    }
}

/* ----------------------------------------------------------------- multi -- */

/* The operations of a multi and their results. */
struct multi {
    struct hf_jute_reader record; /* the operations that are left */
    enum hf_zk_opcode opcode;
    size_t count;
    size_t failed; /* the index of the operation that failed; SIZE_MAX: none */
    size_t nth;    /* the index of the operation that is being read */
};

/* How many operations the record has. */
static size_t count_operations(struct hf_jute_reader record)
{
    size_t operations = 0;
    bool done;
    int32_t type = hf_zk_multi_get_header(&record, &done);

    for (; !done; operations++) {
        (void)hf_zk_op_read(&record, (enum hf_zk_opcode)type);
        type = hf_zk_multi_get_header(&record, &done);
    }
    return operations;
}

/* The result of an operation of a multi that failed: only a status, an error
 * and a text. */
static struct hf_zookeeper_result *failed_result(struct op_answer *answer,
                                                 enum hf_zk_error code,
                                                 const struct hf_error *error)
{
    struct hf_jute_piece text = {error->text, strlen(error->text)};
    struct hf_zookeeper_result *result = new_result(answer, text.count + 1);
    char *end;

    if (result == NULL)
        return NULL;
    end = (char *)(result + 1);
    result->status = error->status;
    result->error = (int32_t)code;
    result->text = copy(&end, text);
    return result;
}

/* ErrorResponse: the result of the operation that failed, or of another
 * operation of the MULTI, which was not carried out because of that. */
static struct hf_zookeeper_result *
read_error(struct op_answer *answer, const struct multi *multi,
           const struct hf_zk_op_record *record)
{
    int32_t code = hf_jute_get_int(&answer->body);
    struct hf_error error;
    char where[48];

    if (multi->opcode == HF_ZK_MULTI && multi->nth != multi->failed) {
        (void)hf_error_set(&error, HF_ECANCELLED,
                           "not carried out, because .ops[%zu] failed",
                           multi->failed);
        return failed_result(answer, HF_ZK_OK, &error);
    }
    if (code >= 0)
        return malformed(answer);
    (void)hf_zk_op_failure(record, answer->chroot, (enum hf_zk_error)code,
                           &error);
    (void)snprintf(where, sizeof where, ".ops[%zu]", multi->nth);
    hf_error_prefix(&error, where);
    return failed_result(answer, (enum hf_zk_error)code, &error);
}

/* Is ${type} the type of a successful answer to ${opcode}? */
static bool answers(int32_t type, enum hf_zk_opcode opcode)
{
    switch (opcode) {
    case HF_ZK_CREATE:
    case HF_ZK_CREATE_CONTAINER:
    case HF_ZK_CREATE_TTL:
        return type == HF_ZK_CREATE || type == HF_ZK_CREATE2;
    default:
        return type == (int32_t)opcode;
    }
}

/* Read the result of the next operation. */
static struct hf_zookeeper_result *read_next(struct op_answer *answer,
                                             struct multi *multi)
{
    bool done;
    int32_t asked = hf_zk_multi_get_header(&multi->record, &done);
    struct hf_zk_op_record record =
        hf_zk_op_read(&multi->record, (enum hf_zk_opcode)asked);
    int32_t type = hf_zk_multi_get_header(&answer->body, &done);

    if (done)
        return malformed(answer);
    if (type == HF_ZK_ERROR_RESULT &&
        (multi->opcode == HF_ZK_MULTI_READ || multi->failed != SIZE_MAX))
        return read_error(answer, multi, &record);
    if (multi->failed != SIZE_MAX || !answers(type, record.opcode))
        return malformed(answer);
    return read_single(answer, &record, (enum hf_zk_opcode)type);
}

/* Did the MULTI fail?  Then all results in ${answer} are errors, so the first
 * one shows it. */
static bool multi_failed(const struct op_answer *answer)
{
    struct hf_jute_reader body = answer->body;
    bool done;

    return hf_zk_multi_get_header(&body, &done) == HF_ZK_ERROR_RESULT && !done;
}

/* Read all results into ${results}.  False, with .error of ${answer}, if one
 * cannot be made, or if there are not as many as there were operations. */
static bool read_results(struct op_answer *answer, struct multi *multi,
                         struct hf_zookeeper_result *parent,
                         const struct hf_zookeeper_result **results)
{
    bool done;

    for (; multi->nth < multi->count; multi->nth++) {
        results[multi->nth] = read_next(answer, multi);
        if (results[multi->nth] == NULL)
            return false;
        parent->result_count++;
    }
    (void)hf_zk_multi_get_header(&answer->body, &done);
    if (answer->body.failed || !done) {
        answer->error = HF_ZK_MALFORMED;
        return false;
    }
    return true;
}

/* MultiResponse. */
static struct hf_zookeeper_result *read_multi(struct op_answer *answer,
                                              enum hf_zk_opcode opcode,
                                              struct hf_jute_reader record)
{
    struct multi multi = {.record = record,
                          .opcode = opcode,
                          .count = count_operations(record),
                          .failed = SIZE_MAX};
    const struct hf_zookeeper_result **results;
    struct hf_zookeeper_result *result;

    /* The reserved block is not used for the results, so that a failure can
     * still be reported in it. */
    answer->reserved = NULL;
    if (multi.opcode == HF_ZK_MULTI && multi_failed(answer)) {
        multi.failed = hf_zk_multi_failed_index(&answer->body);
        if (multi.failed >= multi.count)
            return malformed(answer);
    }
    result = new_result(answer, multi.count * sizeof(void *));
    if (result == NULL)
        return NULL;
    results = (const struct hf_zookeeper_result **)(result + 1);
    result->results = results;
    if (!read_results(answer, &multi, result, results)) {
        hf_zookeeper_result_free(result);
        return NULL;
    }
    if (multi.failed != SIZE_MAX) {
        result->status = results[multi.failed]->status;
        result->error = results[multi.failed]->error;
        /* Not copied: it is freed together with that result. */
        result->text = results[multi.failed]->text;
    }
    return result;
}

/* ------------------------------------------------------------- interface -- */

/* Make ${reserved} the result of a request that failed as a whole. */
static void fail(struct hf_zookeeper_result *reserved,
                 const struct op_answer *answer,
                 const struct hf_zk_op_record *record, enum hf_zk_error code)
{
    struct hf_error error;

    (void)hf_zk_op_failure(record, answer->chroot, code, &error);
    hf_zk_op_end(reserved, error.status, "%s", error.text);
    reserved->error = (int)code < 0 ? (int32_t)code : 0;
    reserved->zxid = answer->zxid;
}

/* The result of ${answer}; NULL, with .error of ${answer}, if there is none. */
static struct hf_zookeeper_result *
read_reply(struct op_answer *answer, const struct hf_zk_op_record *first,
           struct hf_jute_reader record)
{
    if (answer->error != HF_ZK_OK)
        return NULL;
    if (first->opcode == HF_ZK_MULTI || first->opcode == HF_ZK_MULTI_READ)
        return read_multi(answer, first->opcode, record);
    return read_single(answer, first, first->opcode);
}

struct hf_zookeeper_result *
hf_zk_op_result(enum hf_zk_opcode opcode, const struct hf_jute_writer *record,
                const char *chroot, const struct hf_zk_reply *reply,
                struct hf_zookeeper_result *reserved)
{
    struct hf_jute_reader request = {record->bytes, record->used, false};
    struct hf_jute_reader rest = request;
    struct hf_zk_op_record first = hf_zk_op_read(&rest, opcode);
    struct op_answer answer = {.chroot = chroot,
                               .zxid = reply->zxid,
                               .body = reply->body,
                               .reserved = reserved,
                               .error = reply->error};
    struct hf_zookeeper_result *result;

    result = read_reply(&answer, &first, request);
    if (result == NULL) {
        fail(reserved, &answer, &first, answer.error);
        return reserved;
    }
    if (result != reserved)
        hf_free(reserved);
    return result;
}
