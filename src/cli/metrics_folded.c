/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A folded file is a block with as many entries as there are names, the number
 * of ids, the ids, and a digest of all that.  Other users may have written it,
 * so each number is checked that memory depends on.
 */
#include "cli/metrics_folded.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/sha256.h"
#include "metrics/metrics_file.h"

/* Names of files that a folded file may have: those of one fold, and as many
 * that could not be removed. */
#define IDS_MAX (2 * HF_METRICS_ABSORBED_MAX)

/* ------------------------------------------------------------------ ids -- */

static bool add_id(struct hf_metrics_ids *ids,
                   const char id[HF_METRICS_ID_BYTES])
{
    if (ids->count == ids->room) {
        size_t room = ids->room != 0 ? 2 * ids->room : 64;
        void *items = hf_realloc(ids->items, room * HF_METRICS_ID_BYTES);

        if (items == NULL)
            return false;
        ids->items = items;
        ids->room = room;
    }
    memcpy(ids->items[ids->count++], id, HF_METRICS_ID_BYTES);
    return true;
}

static int compare_ids(const void *a, const void *b)
{
    return memcmp(a, b, HF_METRICS_ID_BYTES);
}

static void sort_ids(struct hf_metrics_ids *ids)
{
    if (ids->count > 0)
        qsort(ids->items, ids->count, HF_METRICS_ID_BYTES, compare_ids);
}

/* Is ${id} one of ${ids}, which are sorted? */
static bool has_id(const struct hf_metrics_ids *ids,
                   const char id[HF_METRICS_ID_BYTES])
{
    return ids->count > 0 && bsearch(id, ids->items, ids->count,
                                     HF_METRICS_ID_BYTES, compare_ids) != NULL;
}

/* ----------------------------------------------------------------- read -- */

const char *hf_metrics_header_check(const struct hf_metrics_header *header)
{
    if (memcmp(header->magic, HF_METRICS_MAGIC, sizeof header->magic) != 0)
        return "no file of metrics";
    if (header->byte_order != HF_METRICS_BYTE_ORDER)
        return "written by a machine of another byte order";
    if (header->version != HF_METRICS_VERSION)
        return "written by another version of holdfast; read it with that";
    return NULL;
}

static size_t folded_bytes(uint64_t names, uint64_t ids)
{
    return hf_metrics_block_bytes((size_t)names) + sizeof(uint64_t) +
           (size_t)ids * HF_METRICS_ID_BYTES + HF_SHA256_BYTES;
}

size_t hf_metrics_fold_bytes_max(void)
{
    return folded_bytes(HF_METRICS_SUM_NAMES, IDS_MAX);
}

/* Is what is in ${memory} a folded file?  NULL: yes; else what is wrong. */
static const char *check(const char *memory, size_t bytes)
{
    const struct hf_metrics_block *block = (const void *)memory;
    uint8_t digest[HF_SHA256_BYTES];
    uint64_t names, ids;
    const char *why;
    size_t at;

    if (bytes < folded_bytes(0, 0))
        return "too short";
    if ((why = hf_metrics_header_check(&block->header)) != NULL)
        return why;
    names = block->header.used;
    hf_sha256(memory, bytes - sizeof digest, digest);
    if (names > HF_METRICS_SUM_NAMES || bytes < folded_bytes(names, 0) ||
        memcmp(digest, memory + bytes - sizeof digest, sizeof digest) != 0)
        return "damaged";
    at = hf_metrics_block_bytes((size_t)names);
    memcpy(&ids, memory + at, sizeof ids);
    if (ids > IDS_MAX || folded_bytes(names, ids) != bytes)
        return "damaged";
    if (!hf_metrics_sum_check(block, (size_t)names, HF_METRICS_SUM_MAX))
        return "damaged";
    return NULL;
}

bool hf_metrics_fold_parse(struct hf_metrics_fold *fold, const char *memory,
                           size_t bytes, struct hf_metrics_sum *total,
                           const char **why)
{
    const struct hf_metrics_block *block = (const void *)memory;
    uint64_t ids;
    size_t at, names;

    if ((*why = check(memory, bytes)) != NULL)
        return true;
    names = (size_t)block->header.used;
    at = hf_metrics_block_bytes(names);
    memcpy(&ids, memory + at, sizeof ids);
    at += sizeof ids;
    for (uint64_t i = 0; i < ids; i++, at += HF_METRICS_ID_BYTES)
        if (!add_id(&fold->in_file, memory + at))
            return false;
    sort_ids(&fold->in_file);
    return hf_metrics_sum_add(&fold->sum, block, names) &&
           hf_metrics_sum_add(total, block, names);
}

/* --------------------------------------------------------------- absorb -- */

bool hf_metrics_fold_has(const struct hf_metrics_fold *fold, const char *id)
{
    return has_id(&fold->in_file, id);
}

bool hf_metrics_fold_absorb(struct hf_metrics_fold *fold, const char *id,
                            const struct hf_metrics_block *block)
{
    return hf_metrics_sum_add(&fold->sum, block, HF_METRICS_NAMES) &&
           add_id(&fold->absorbed, id);
}

bool hf_metrics_fold_keep(struct hf_metrics_fold *fold, const char *id)
{
    return add_id(&fold->absorbed, id);
}

void hf_metrics_fold_free(struct hf_metrics_fold *fold)
{
    hf_free(fold->in_file.items);
    hf_free(fold->absorbed.items);
    hf_metrics_sum_free(&fold->sum);
}

/* ---------------------------------------------------------------- write -- */

static bool write_all(int fd, const void *from, size_t bytes)
{
    for (size_t done = 0; done < bytes;) {
        ssize_t put = write(fd, (const char *)from + done, bytes - done);

        if (put < 0 && errno == EINTR)
            continue;
        if (put < 0)
            return false;
        done += (size_t)put;
    }
    return true;
}

/* The new folded file in memory, ${bytes} long; NULL: no memory. */
static char *build_folded(struct hf_metrics_fold *fold, size_t *bytes)
{
    uint64_t ids = fold->absorbed.count;
    struct hf_metrics_block *block;
    char *memory, *at;

    hf_metrics_sum_trim(&fold->sum);
    *bytes = folded_bytes(fold->sum.count, ids);
    if ((memory = hf_alloc(*bytes)) == NULL)
        return NULL;
    block = (void *)memory;
    hf_metrics_sum_write(&fold->sum, block);
    memcpy(block->header.magic, HF_METRICS_MAGIC, sizeof block->header.magic);
    block->header.version = HF_METRICS_VERSION;
    block->header.byte_order = HF_METRICS_BYTE_ORDER;
    block->header.bytes = *bytes;
    at = memory + hf_metrics_block_bytes(fold->sum.count);
    memcpy(at, &ids, sizeof ids);
    at += sizeof ids;
    if (ids > 0)
        memcpy(at, fold->absorbed.items,
               fold->absorbed.count * HF_METRICS_ID_BYTES);
    hf_sha256(memory, *bytes - HF_SHA256_BYTES,
              (uint8_t *)memory + *bytes - HF_SHA256_BYTES);
    return memory;
}

/* Put the ${bytes} of ${memory} into a new file and give it the ${name}.  False
 * with errno. */
static bool replace_folded(int dir, const char *name, const char *memory,
                           size_t bytes)
{
    bool done;
    int fd;

    if (unlinkat(dir, HF_METRICS_FOLDED_TEMPORARY, 0) != 0 && errno != ENOENT)
        return false;
    fd = openat(dir, HF_METRICS_FOLDED_TEMPORARY,
                O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
    if (fd < 0)
        return false;
    done = write_all(fd, memory, bytes) && fsync(fd) == 0;
    close(fd);
    return done && renameat(dir, HF_METRICS_FOLDED_TEMPORARY, dir, name) == 0 &&
           fsync(dir) == 0;
}

/* The files of the dead are removed only when the sum that has their numbers is
 * in the directory. */
hf_status hf_metrics_fold_write(struct hf_metrics_fold *fold, int dir,
                                const char *path, struct hf_error *error)
{
    char name[HF_METRICS_ID_BYTES + sizeof HF_METRICS_LIVE_SUFFIX];
    char *memory;
    size_t bytes;
    bool done;

    if ((memory = build_folded(fold, &bytes)) == NULL)
        return hf_error_set(error, HF_ENOMEM, "out of memory");
    done = replace_folded(dir, fold->name, memory, bytes);
    hf_free(memory);
    if (!done)
        return hf_error_set(
            error, errno == ENOSPC || errno == EDQUOT ? HF_EFULL : HF_EDIR,
            "cannot fold the files of the dead in %.200s: %s", path,
            hf_errno_text(errno));
    for (size_t i = 0; i < fold->absorbed.count; i++) {
        (void)snprintf(name, sizeof name, "%.*s%s", HF_METRICS_ID_BYTES,
                       fold->absorbed.items[i], HF_METRICS_LIVE_SUFFIX);
        (void)unlinkat(dir, name, 0);
    }
    return HF_OK;
}
