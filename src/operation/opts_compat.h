/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Structs of options of programs that were compiled with another version.
 *
 * A struct of options begins with its .size and only grows at its end.  So the
 * size says which fields a program knows, and the others get their defaults.  A
 * program that is newer than the library may set fields that the library does
 * not know; as long as these are zero it asks for nothing that the library
 * cannot do.  The idea is that of copy_struct_from_user() of Linux, which
 * clone3() and openat2() use.
 *
 * A struct grows by a uint64_t, or by fields that begin with one.  Such a field
 * never lies in the padding at the end of the struct of an earlier release,
 * which programs do not set.  The default of a new field is 0, because a
 * program that does not use it must work with a library that does not have it.
 */
#ifndef HF_OPERATION_OPTS_COMPAT_H
#define HF_OPERATION_OPTS_COMPAT_H

#include <holdfast/status.h>
#include <holdfast/zookeeper_cache.h>
#include <holdfast/zookeeper_registration.h>

/* More than any struct of options will ever have: a greater .size is no size,
 * because the program did not set it. */
#define HF_OPTS_BYTES_MAX 4096

/* The structs, and the last field of each in 0.1.0, whose end is the least size
 * that is accepted.  X(noun, NOUN, field) */
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

/* One struct of options, as this version has it. */
struct hf_opts_type {
    /* The macro that sets .size, for the text of an error. */
    const char *initialiser;
    size_t first_bytes;   /* the size in the first release */
    size_t bytes;         /* the size in this version */
    const void *defaults; /* a whole struct */
};

/* hf_client_opts_type and so on. */
#define HF_OPTS_DECLARE_(noun, NOUN, field)                                    \
    extern const struct hf_opts_type hf_##noun##_opts_type;
HF_OPTS_TABLE(HF_OPTS_DECLARE_)
#undef HF_OPTS_DECLARE_

/* Set ${opts}, a whole struct of ${type}, to what ${given} says (NULL:
 * nothing), and the rest to the defaults.  Whatever the status, ${opts} has the
 * callbacks whose .drop must be called: none, if ${given} cannot be read.
 *   Fails     HF_EINVAL if .size is less than in the first release, or too
 *             great to be a size; HF_EUNSUPPORTED if it is greater than here
 *             and a field that this version does not know is not zero. */
hf_status hf_opts_copy(const struct hf_opts_type *type, const void *given,
                       void *opts, struct hf_error *error);

#endif
