/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See opts_compat.h.
 */
#include "operation/opts_compat.h"

#include <stdbool.h>
#include <string.h>

#include <holdfast/election.h>
#include <holdfast/lock.h>
#include <holdfast/mutex.h>
#include <holdfast/names.h>
#include <holdfast/queue_watch.h>
#include <holdfast/version.h>

#include "base/error.h"

/* The offset of the first byte behind ${field}. */
#define END_OF(type, field)                                                    \
    (offsetof(struct type, field) + sizeof(((struct type *)0)->field))

/* Set the ${size} bytes of ${opts} to the defaults of ${type}.  ${size} may be
 * that of another version. */
static void set_defaults(const struct hf_opts_type *type, void *opts,
                         size_t size)
{
    memset(opts, 0, size);
    memcpy(opts, type->defaults, size < type->bytes ? size : type->bytes);
    memcpy(opts, &size, size < sizeof(size) ? size : sizeof(size));
}

/* Defines the type of one struct of options, and the public function that sets
 * its defaults. */
#define DEFINE(noun, NOUN, field)                                              \
    static const struct hf_##noun##_opts noun##_defaults =                     \
        HF_##NOUN##_OPTS_INIT;                                                 \
    const struct hf_opts_type hf_##noun##_opts_type = {                        \
        .initialiser = "HF_" #NOUN "_OPTS_INIT",                               \
        .first_bytes = END_OF(hf_##noun##_opts, field),                        \
        .bytes = sizeof(struct hf_##noun##_opts),                              \
        .defaults = &noun##_defaults,                                          \
    };                                                                         \
    _Static_assert(offsetof(struct hf_##noun##_opts, size) == 0,               \
                   "size first");                                              \
    _Static_assert(sizeof(struct hf_##noun##_opts) <= HF_OPTS_BYTES_MAX,       \
                   "no larger than any size that is taken");                   \
    void hf_##noun##_opts_init(struct hf_##noun##_opts *opts, size_t size)     \
    {                                                                          \
        set_defaults(&hf_##noun##_opts_type, opts, size);                      \
    }
HF_OPTS_TABLE(DEFINE)

/* Returns whether the bytes from ${from} up to, but without, ${to} are zero. */
static bool is_zero(const unsigned char *bytes, size_t from, size_t to)
{
    while (from < to && bytes[from] == 0)
        from++;
    return from >= to;
}

/* ${opts} is set to the defaults first, so that fields that the program does
 * not know have these. */
hf_status hf_opts_copy(const struct hf_opts_type *type, const void *given,
                       void *opts, struct hf_error *error)
{
    size_t size;

    memcpy(opts, type->defaults, type->bytes);
    if (given == NULL)
        return HF_OK;
    memcpy(&size, given, sizeof(size));
    if (size < type->first_bytes || size > HF_OPTS_BYTES_MAX)
        return hf_error_set(error, HF_EINVAL,
                            "the size of the options is %zu, expected %zu, or "
                            "up to %d from a newer version; start from %s",
                            size, type->bytes, HF_OPTS_BYTES_MAX,
                            type->initialiser);
    memcpy(opts, given, size < type->bytes ? size : type->bytes);
    memcpy(opts, &type->bytes, sizeof(type->bytes));
    if (!is_zero(given, type->bytes, size))
        return hf_error_set(error, HF_EUNSUPPORTED,
                            "the options set one that this version of "
                            "holdfast, %s, does not know: of their %zu bytes "
                            "it knows %zu, and the others are not all zero; "
                            "leave that option at 0, or install a newer "
                            "holdfast",
                            HF_VERSION_STRING, size, type->bytes);
    return HF_OK;
}
