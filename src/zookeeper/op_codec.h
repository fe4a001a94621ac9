/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The operations of a ZooKeeper client (holdfast/zookeeper.h) as bytes: check
 * an operation, encode it as the record of a request, and decode an answer to
 * the result that the client's user gets.  Nothing here sends, waits or locks.
 *
 * Until the answer comes only the record is kept, because the memory of the
 * operation belongs to the user.  To decode the answer the record is read
 * again: it has the paths, and the operations of a multi.
 */
#ifndef HF_ZOOKEEPER_OP_CODEC_H
#define HF_ZOOKEEPER_OP_CODEC_H

#include <holdfast/zookeeper.h>

#include "zookeeper/protocol.h"
#include "zookeeper/zk_wire.h"

/* What all operations of a handle share. */
struct hf_zk_op_context {
    const char *chroot;       /* "" or a path such as "/a/b" */
    bool private_nodes;       /* a CREATE without .acls gets an access list for
                                 the creator's credentials, not for everybody */
    size_t max_request_bytes; /* at most INT32_MAX */
};

/* HF_OK if ${op} can be sent, otherwise ${error} says what is wrong with it and
 * what was expected:
 *   HF_EINVAL        a field that no server takes, or a request of more than
 *                    .max_request_bytes
 *   HF_EUNSUPPORTED  a .reserved is not zero
 * Before, the caller checks that .watch of a single operation has the right
 * kind and path, and sets .path of an ADD_WATCH to the path of its watch. */
hf_status hf_zk_op_check(const struct hf_zookeeper_op *op,
                         const struct hf_zk_op_context *context,
                         struct hf_error *error);

/* --------------------------------------------------------------- request -- */

/* The type of the request. */
enum hf_zk_opcode hf_zk_op_opcode(const struct hf_zookeeper_op *op);

/* Does the server append digits to the path of ${op}? */
bool hf_zk_op_is_sequential(const struct hf_zookeeper_op *op);

/* The bytes of the request as it is sent, with its length and header; SIZE_MAX
 * if they cannot be counted. */
size_t hf_zk_op_bytes(const struct hf_zookeeper_op *op,
                      const struct hf_zk_op_context *context);

/* Append the record of ${op}, which was checked, to ${record}, without the
 * header.  The last byte of a GET, an EXISTS or a CHILDREN is its watch flag,
 * and the last four of an ADD_WATCH are its mode: they are 0 here.  An ADD_AUTH
 * has no record: the session sends the credentials.  After HF_ENOMEM the
 * content of ${record} must not be used. */
hf_status hf_zk_op_encode(const struct hf_zookeeper_op *op,
                          const struct hf_zk_op_context *context,
                          struct hf_jute_writer *record,
                          struct hf_error *error);

/* As hf_zk_op_encode(), but lack of memory sets .failed of ${to}.
 * hf_zk_op_put_in_multi() writes ${op} as an operation of a multi, with a
 * header before it. */
void hf_zk_op_put(struct hf_jute_writer *to, const struct hf_zookeeper_op *op,
                  const struct hf_zk_op_context *context);
void hf_zk_op_put_in_multi(struct hf_jute_writer *to,
                           const struct hf_zookeeper_op *op,
                           const struct hf_zk_op_context *context);

/* What a request asks of one node, read from its record. */
struct hf_zk_op_record {
    enum hf_zk_opcode opcode;
    struct hf_jute_piece path; /* with the chroot; null if there is none */
    int64_t version;           /* the expected version, or HF_ZK_ANY_VERSION */
};

/* Read the next operation of a record that hf_zk_op_encode() wrote. */
struct hf_zk_op_record hf_zk_op_read(struct hf_jute_reader *record,
                                     enum hf_zk_opcode opcode);

/* ---------------------------------------------------------------- result -- */

/* Allocate an empty result.  This is done before the operation is sent, so that
 * a failure can be reported even if there is no memory then.  Free it with
 * hf_zookeeper_result_free().  NULL for lack of memory. */
struct hf_zookeeper_result *hf_zk_op_reserve(void);

/* Make ${reserved} the result of an operation that failed with ${status}, which
 * is not HF_OK.  .text becomes the formatted text. */
void hf_zk_op_end(struct hf_zookeeper_result *reserved, hf_status status,
                  const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The result that ${reply} means for a request of that ${opcode} and ${record},
 * as hf_zk_op_encode() wrote it.  Its user frees it with
 * hf_zookeeper_result_free().  ${reserved} becomes the result, or is freed.
 *
 * The result can have any status.  HF_ENOMEM: there is no memory for the
 * content of the answer.  HF_EPROTOCOL with .error 0: the answer does not fit
 * the request, has a path outside of ${chroot}, or a name with a NUL in it.
 * HF_EPROTOCOL with another .error: the server has answered with that error,
 * for which there is no other status.  A write was carried out if its status is
 * HF_ELIMIT, or if it is HF_ENOMEM or HF_EPROTOCOL with .error 0.  For a MULTI
 * that is not certain.  Bytes behind a record are ignored, as other clients do.
 * .watching is left false.
 *
 * If the server does not say which operation of a MULTI failed, the result has
 * no .results.
 *
 * ${reply} must be an answer of the server, so its error is not
 * HF_ZK_DISCONNECTED. */
struct hf_zookeeper_result *
hf_zk_op_result(enum hf_zk_opcode opcode, const struct hf_jute_writer *record,
                const char *chroot, const struct hf_zk_reply *reply,
                struct hf_zookeeper_result *reserved);

/* Set ${error} to what ${code}, an error of the server or of the session,
 * means for ${record}.  Returns the status. */
hf_status hf_zk_op_failure(const struct hf_zk_op_record *record,
                           const char *chroot, enum hf_zk_error code,
                           struct hf_error *error);

#endif
