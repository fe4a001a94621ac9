/* SPDX-License-Identifier: Apache-2.0 */
/* See success.h.  Writes and reads a success, and computes its age. */
#include "engines/file/success.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "base/sha256.h"
#include "core/ticket.h"
#include "engines/file/state_dir.h"
#include "engines/file/syscalls.h"

/* Room for "TOKEN UTC_MS BOOT BOOT_MS\n" and its NUL. */
#define TEXT_BYTES (3 * 21 + HF_TICKET_ID_TEXT_BYTES + 1)

/* A success as it was written. */
struct written_success {
    uint64_t token; /* 0: there is none */
    int64_t at_utc_ms;
    struct hf_ticket_id boot; /* all zero: not known */
    uint64_t boot_ms;         /* CLOCK_BOOTTIME of that boot */
};

static uint64_t clock_ms(clockid_t clock)
{
    struct timespec now = {0};

    (void)clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* ------------------------------------------------------------------ text -- */

static void format(const struct written_success *success, char text[TEXT_BYTES])
{
    char boot[HF_TICKET_ID_TEXT_BYTES];

    hf_ticket_id_format(&success->boot, boot);
    (void)snprintf(text, TEXT_BYTES, "%" PRIu64 " %" PRId64 " %s %" PRIu64 "\n",
                   success->token, success->at_utc_ms, boot, success->boot_ms);
}

/* Parse a success.  If ${text} makes no sense, it was not written by us, and
 * .token is 0. */
static struct written_success parse(const char *text)
{
    struct written_success success = {0};
    char boot[HF_TICKET_ID_TEXT_BYTES];

    if (sscanf(text, "%" SCNu64 " %" SCNd64 " %36s %" SCNu64, &success.token,
               &success.at_utc_ms, boot, &success.boot_ms) != 4 ||
        !hf_ticket_id_parse(&success.boot, boot, strlen(boot)))
        success = (struct written_success){0};
    return success;
}

/* ---------------------------------------------------------- the two places */

/* Write the name of the file in STATE: a digest of the root directory and the
 * queue, because several root directories may have the same STATE.  If several
 * paths lead to one root directory, the digest is the same. */
static void state_name(const struct hf_file_root_settings *settings,
                       const char *queue, char name[HF_STATE_FILE_BYTES])
{
    const char *last = strrchr(settings->root, '/');
    char parent[HF_ROOT_BYTES], resolved[PATH_MAX] = "";
    char text[PATH_MAX + HF_ROOT_BYTES + HF_QUEUE_BYTES];
    char digest[HF_SHA256_TEXT_BYTES];
    int bytes;

    (void)snprintf(parent, sizeof(parent), "%.*s/",
                   (int)(last - settings->root), settings->root);
    if (realpath(parent, resolved) == NULL)
        (void)snprintf(resolved, sizeof(resolved), "%s", parent);
    bytes =
        snprintf(text, sizeof(text), "%s%s%c%s", resolved, last, '\0', queue);
    hf_sha256_text(text, (size_t)bytes, digest);
    (void)snprintf(name, HF_STATE_FILE_BYTES, "success-%s", digest);
}

/* Read the success in STATE.  Without STATE there is none; also if STATE cannot
 * be opened and was not named by ?state=.  But it is an error if descriptors or
 * memory run out, because that passes and there may be a success. */
static hf_status read_state(const struct hf_file_root_settings *settings,
                            const char *queue, struct written_success *success,
                            struct hf_error *error)
{
    char name[HF_STATE_FILE_BYTES], text[TEXT_BYTES];
    hf_status status;
    int fd;

    *success = (struct written_success){0};
    status = hf_file_state_dir_open(settings->state, false, &fd, error);
    if (status != HF_OK)
        return status == HF_EGONE ||
                       (!settings->state_required &&
                        hf_status_class(status) != HF_CLASS_RESOURCE)
                   ? HF_OK
                   : status;
    state_name(settings, queue, name);
    status = hf_file_state_read(fd, settings->state, name, text, sizeof(text),
                                error);
    (void)close(fd);
    if (status == HF_OK)
        *success = parse(text);
    return status == HF_EGONE ? HF_OK : status;
}

static hf_status write_state(const struct hf_file_root_settings *settings,
                             const char *queue, const char *text,
                             struct hf_error *error)
{
    char name[HF_STATE_FILE_BYTES];
    hf_status status;
    int fd;

    status = hf_file_state_dir_open(settings->state, true, &fd, error);
    if (status != HF_OK)
        return status;
    state_name(settings, queue, name);
    status = hf_file_state_write(fd, settings->state, name, text, error);
    (void)close(fd);
    return status;
}

/* Read the success in the directory of the lock. */
static hf_status read_link(int dir, const char *path,
                           struct written_success *success,
                           struct hf_error *error)
{
    char text[TEXT_BYTES];
    ssize_t got;

    *success = (struct written_success){0};
    if (dir < 0)
        return HF_OK;
    got = hf_file_sys_readlinkat(dir, HF_SUCCESS_FILE, text, sizeof(text) - 1);
    if (got < 0)
        return errno == ENOENT ? HF_OK
                               : hf_file_error_set_errno(
                                     error, "read the success in", path);
    text[got] = '\0';
    *success = parse(text);
    return HF_OK;
}

static hf_status write_link(int dir, const char *path, const char *text,
                            struct hf_error *error)
{
    (void)hf_file_sys_unlinkat(dir, HF_NEW_FILE);
    if (hf_file_sys_symlinkat(text, dir, HF_NEW_FILE) == 0 &&
        hf_file_sys_renameat(dir, HF_NEW_FILE, HF_SUCCESS_FILE) == 0 &&
        hf_file_sys_fsync(dir) == 0)
        return HF_OK;
    return hf_file_error_set_errno(error, "write the success in", path);
}

/* ---------------------------------------------------------- read, write -- */

/* Read both; the one with the greater token counts. */
static hf_status read_both(const struct hf_file_root_settings *settings,
                           int dir, const char *path, const char *queue,
                           struct written_success *success,
                           struct hf_error *error)
{
    struct written_success durable = {0};
    hf_status status = read_link(dir, path, success, error);

    if (status == HF_OK)
        status = read_state(settings, queue, &durable, error);
    if (status == HF_OK && durable.token > success->token)
        *success = durable;
    return status;
}

/* Returns the age of ${success}: by CLOCK_BOOTTIME if it was written in this
 * boot, else by the wall clock. */
static int64_t age_ms(const struct written_success *success)
{
    static const struct hf_ticket_id unknown;
    struct hf_ticket_id boot = hf_file_boot();

    if (!hf_ticket_id_equal(&boot, &unknown) &&
        hf_ticket_id_equal(&boot, &success->boot))
        return (int64_t)(clock_ms(CLOCK_BOOTTIME) - success->boot_ms);
    return (int64_t)clock_ms(CLOCK_REALTIME) - success->at_utc_ms;
}

hf_status hf_file_success_read(const struct hf_file_root_settings *settings,
                               int dir, const char *queue,
                               struct hf_success *success,
                               struct hf_error *error)
{
    struct written_success written;
    hf_status status =
        read_both(settings, dir, settings->root, queue, &written, error);

    *success = (struct hf_success){0};
    if (status == HF_OK && written.token != 0)
        *success = (struct hf_success){.token = written.token,
                                       .at_utc_ms = written.at_utc_ms,
                                       .age_ms = age_ms(&written)};
    return status;
}

/* STATE is written first.  If the machine crashes in between, the newer success
 * is read from there. */
hf_status hf_file_success_write(struct hf_file_root_dir *root_dir, int dir,
                                const char *path, const char *queue,
                                uint64_t token, bool *written,
                                struct hf_error *error)
{
    const struct hf_file_root_settings *settings = root_dir->settings;
    struct written_success success;
    char text[TEXT_BYTES];
    hf_status status = read_both(settings, dir, path, queue, &success, error);

    *written = status == HF_OK && success.token <= token;
    if (!*written)
        return status;
    success =
        (struct written_success){.token = token,
                                 .at_utc_ms = (int64_t)clock_ms(CLOCK_REALTIME),
                                 .boot = hf_file_boot(),
                                 .boot_ms = clock_ms(CLOCK_BOOTTIME)};
    format(&success, text);
    status = write_state(settings, queue, text, error);
    if (status != HF_OK && (settings->state_required ||
                            !atomic_load(&root_dir->counter.not_durable)))
        return status;
    return write_link(dir, path, text, error);
}
