/* SPDX-License-Identifier: Apache-2.0 */
/* See held_locks.h. */
#include "cli/held_locks.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/sha256.h"
#include "cli/process.h"
#include "client/owner_text.h"
#include "command/format.h"

/* Lines after these are not looked at; runs are never nested that deep. */
#define HF_HELD_LOCKS_LINES_MAX 1024

/* At most this much of the runs around is handed down.  The kernel takes 128
 * KiB in one variable (MAX_ARG_STRLEN); the rest is room for 64 locks with the
 * longest names. */
#define HF_HELD_LOCKS_INHERITED_MAX 32768

/* An iterator over the lines of the variable that count. */
struct held_lines {
    const char *next; /* what is still to be read; NULL: nothing */
    int left;         /* lines that may still be read */
    pid_t pid;        /* the process that was looked up last, with .started */
    uint64_t started;
    bool is_of_ancestor; /* whether it is an ancestor */
    const char *line;    /* the current line, not NUL-terminated */
    size_t length;
    struct hf_held_lock held; /* the current line, parsed */
};

void hf_held_lock_engine(const char *description,
                         char engine[HF_HELD_LOCK_ENGINE_BYTES])
{
    char digest[HF_SHA256_TEXT_BYTES];

    hf_sha256_text(description, strlen(description), digest);
    (void)snprintf(engine, HF_HELD_LOCK_ENGINE_BYTES, "%.16s", digest);
}

/* -------------------------------------------------------------- reading -- */

/* The kind that is written as ${word}.  False if there is none. */
static bool kind_of(const char *word, enum hf_kind *kind)
{
    static const enum hf_kind kinds[] = {HF_KIND_MUTEX, HF_KIND_READ,
                                         HF_KIND_WRITE, HF_KIND_SEMAPHORE,
                                         HF_KIND_ELECTION};

    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        *kind = kinds[i];
        if (strcmp(word, hf_format_kind(kinds[i])) == 0)
            return true;
    }
    return false;
}

/* Parse one line.  False if it is not in the format. */
static bool parse(const char *line, size_t length, struct hf_held_lock *held)
{
    char kind[16];
    int pid, name = 0;

    /* The widths are those of the fields of the struct. */
    if (sscanf(line,
               "%16[0-9a-f]:%9d:%20" SCNu64 ":%15[a-z]:%9" SCNu32 ":%9" SCNu32
               ":%8[0-9a-f]:%n",
               held->engine, &pid, &held->started, kind, &held->permits,
               &held->words, held->ticket, &name) != 7 ||
        name == 0 || (size_t)name >= length ||
        length - (size_t)name > HF_NAME_BYTES || !kind_of(kind, &held->kind))
        return false;
    held->pid = pid;
    memcpy(held->name, line + name, length - (size_t)name);
    held->name[length - (size_t)name] = '\0';
    return true;
}

/* Is the process of the current line an ancestor of this one? */
static bool is_of_ancestor(struct held_lines *lines)
{
    const struct hf_held_lock *held = &lines->held;

    /* The locks of one run are in adjacent lines, so the last answer is kept.
     */
    if (held->pid != lines->pid || held->started != lines->started) {
        lines->pid = held->pid;
        lines->started = held->started;
        lines->is_of_ancestor =
            hf_process_is_ancestor(held->pid, held->started);
    }
    return lines->is_of_ancestor;
}

/* Go on to the next line that counts.  False if there is none. */
static bool next_line(struct held_lines *lines)
{
    while (lines->next && *lines->next && lines->left-- > 0) {
        lines->line = lines->next;
        lines->length = strcspn(lines->line, "\n");
        lines->next = lines->line + lines->length;
        lines->next += *lines->next == '\n';
        if (parse(lines->line, lines->length, &lines->held) &&
            is_of_ancestor(lines))
            return true;
    }
    return false;
}

/* ---------------------------------------------------------------- rules -- */

/* Does a lock that is held as ${held} keep one from being granted as ${wanted}?
 * Readers share, and a lock and a semaphore of the same name are
 * independent. */
static bool excludes(enum hf_kind held, enum hf_kind wanted)
{
    if (held == HF_KIND_SEMAPHORE || wanted == HF_KIND_SEMAPHORE)
        return false;
    return held != HF_KIND_READ || wanted != HF_KIND_READ;
}

bool hf_held_locks_block(const char *text, const struct hf_held_lock *wanted,
                         uint32_t limit, struct hf_held_lock *found)
{
    struct held_lines lines = {.next = text, .left = HF_HELD_LOCKS_LINES_MAX};
    uint64_t permits = 0;

    while (next_line(&lines)) {
        const struct hf_held_lock *held = &lines.held;

        if (strcmp(held->engine, wanted->engine) != 0 ||
            strcmp(held->name, wanted->name) != 0)
            continue;
        *found = *held;
        if (excludes(held->kind, wanted->kind))
            return true;
        if (held->kind != HF_KIND_SEMAPHORE || wanted->kind != held->kind)
            continue;
        permits += held->permits;
        found->permits = (uint32_t)permits;
        if (permits + wanted->permits > limit)
            return true;
    }
    return false;
}

/* Is ${owner} a process of this host (or container), started since the last
 * boot, so that its pid means a process here? */
static bool is_local(const struct hf_owner *owner, uint64_t now_ms)
{
    char payload[HF_PAYLOAD_BYTES];
    struct hf_owner self;

    hf_owner_text_write(payload, now_ms, NULL);
    return owner->age_ms != HF_FOREVER &&
           hf_owner_text_parse(payload, now_ms, &self) &&
           strcmp(owner->host, self.host) == 0;
}

bool hf_held_locks_have_holder(const char *text, const char *name,
                               const char *holder, uint64_t now_ms)
{
    struct held_lines lines = {.next = text, .left = HF_HELD_LOCKS_LINES_MAX};
    struct hf_owner owner;

    if (!hf_owner_text_parse(holder, now_ms, &owner) ||
        !is_local(&owner, now_ms))
        return false;
    while (next_line(&lines))
        if ((uint64_t)lines.held.pid == owner.pid &&
            strcmp(lines.held.name, name) == 0)
            return true;
    return false;
}

void hf_held_locks_each(const char *text, const char *engine,
                        void (*each)(void *arg,
                                     const struct hf_held_lock *held),
                        void *arg)
{
    struct held_lines lines = {.next = text, .left = HF_HELD_LOCKS_LINES_MAX};

    while (next_line(&lines))
        if (strcmp(lines.held.engine, engine) == 0)
            each(arg, &lines.held);
}

bool hf_held_locks_of_run(const char *text, pid_t pid,
                          struct hf_held_lock *found)
{
    struct held_lines lines = {.next = text, .left = HF_HELD_LOCKS_LINES_MAX};

    while (next_line(&lines)) {
        if (lines.held.pid == pid) {
            *found = lines.held;
            return true;
        }
    }
    return false;
}

/* -------------------------------------------------------------- writing -- */

void hf_held_locks_write_inherited(struct hf_variables_text *out,
                                   const char *text)
{
    struct held_lines lines = {.next = text, .left = HF_HELD_LOCKS_LINES_MAX};
    size_t bytes = 0;

    while (next_line(&lines) &&
           (bytes += lines.length + 1) <= HF_HELD_LOCKS_INHERITED_MAX)
        hf_variables_text_add(out, "%.*s\n", (int)lines.length, lines.line);
}

void hf_held_lock_write(struct hf_variables_text *out,
                        const struct hf_held_lock *held)
{
    hf_variables_text_add(
        out, "%s:%d:%" PRIu64 ":%s:%" PRIu32 ":%" PRIu32 ":%s:%s\n",
        held->engine, (int)held->pid, held->started, hf_format_kind(held->kind),
        held->permits, held->words, held->ticket, held->name);
}
