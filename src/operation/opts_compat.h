/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Structs of options of programs that were compiled with another version.
 *
 * A struct of options begins with its .size and only grows at its end.  So
 * .size shows which fields the program knows; the other fields get their
 * defaults.  A program that is newer than the library may set fields that the
 * library does not know.  As long as these are zero, the program asks for
 * nothing that the library cannot do.  The idea is that of
 * copy_struct_from_user() of Linux, which clone3() and openat2() use.
 *
 * A struct grows by a uint64_t, or by fields that begin with one.  So a new
 * field is never in the padding at the end of an earlier release's struct,
 * which programs do not set.  The default of a new field is 0, because a
 * program that does not use it must work with a library that does not have it.
 */
#ifndef HF_OPERATION_OPTS_COMPAT_H
#define HF_OPERATION_OPTS_COMPAT_H

#include <holdfast/status.h>
#include <holdfast/zookeeper_cache.h>
#include <holdfast/zookeeper_registration.h>

/* A .size above this was not set by the program; no struct of options is that
 * large. */
#define HF_OPTS_BYTES_MAX 4096

/* The structs, and the last field of each in version 0.1.0.  A .size that ends
 * before this field is refused.  X(noun, NOUN, field) */
#define HF_OPTS_TABLE(X)                                                       \
    X(client, CLIENT, loss_at)                                                 \
    X(lock, LOCK, limit)                                                       \
    X(acquire, ACQUIRE, owner)                                                 \
    X(mutex, MUTEX, on_revoke)                                                 \
    X(rwlock, RWLOCK, on_revoke)                                               \
    X(election, ELECTION, id)                                                  \
    X(names, NAMES, all)                                                       \
    X(queue_watch, QUEUE_WATCH, queues)                                        \
    X(zookeeper, ZOOKEEPER, max_answer_bytes)                                  \
    X(zookeeper_cache, ZOOKEEPER_CACHE, without_data)                          \
    X(zookeeper_registration, ZOOKEEPER_REGISTRATION, acl_count)

/* A struct of options as it is in this version. */
struct hf_opts_type {
    /* name of the macro that sets .size, for error texts */
    const char *initialiser;
    size_t first_bytes;   /* the size in the first release */
    size_t bytes;         /* the size in this version */
    const void *defaults; /* a complete struct */
};

/* Declares hf_client_opts_type and so on. */
#define HF_OPTS_DECLARE_(noun, NOUN, field)                                    \
    extern const struct hf_opts_type hf_##noun##_opts_type;
HF_OPTS_TABLE(HF_OPTS_DECLARE_)
#undef HF_OPTS_DECLARE_

/* Set ${opts}, a complete struct of ${type}, to the fields of ${given} and to
 * the defaults for the others; NULL: all defaults.  Even after a failure
 * ${opts} has the callbacks whose .drop must be called; it has none if ${given}
 * could not be read.
 *   Fails     HF_EINVAL if .size is less than in the first release, or too
 *             great to be a size; HF_EUNSUPPORTED if it is greater than here
 *             and a field that this version does not know is not zero. */
hf_status hf_opts_copy(const struct hf_opts_type *type, const void *given,
                       void *opts, struct hf_error *error);

#endif
