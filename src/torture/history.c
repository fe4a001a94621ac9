/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the whole file, parses its lines, sorts the events by time and applies
 * them one by one: each event changes the attempt of its client at its lock.
 * If an event does not fit the state of the attempt, the history is invalid.
 */
#include "torture/history.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/quote.h"

#define FIRST_TEXT_BYTES ((size_t)1 << 16)

/* An event, and the number of its line, counted from 1. */
struct history_entry {
    struct hf_history_event event;
    size_t line;
};

/* What is known of a client while events are applied. */
struct history_client {
    uint32_t first_attempt; /* index plus 1 of its newest attempt that has
                               not ended; 0: none */
    bool dead;              /* DIED was applied */
};

/* The state of hf_history_read(). */
struct history_reader {
    struct hf_history *history;
    struct hf_error *error;
    struct history_entry *entries; /* sorted by time once all are read */
    size_t entry_count, entry_room;
    struct history_client *clients; /* indexed by the client's number */
    uint32_t attempt_room;          /* allocated attempts */
    uint32_t write_room;            /* allocated writes */
};

static hf_status no_memory(struct hf_error *error)
{
    return hf_error_set(error, HF_ENOMEM,
                        "no memory is left for the history; expected a "
                        "shorter one, or more memory");
}

/* ------------------------------------------------------------------ text -- */

/* Read all of ${file} into ${history}->text. */
static hf_status read_text(FILE *file, size_t most_bytes,
                           struct hf_history *history, struct hf_error *error)
{
    size_t room = FIRST_TEXT_BYTES, bytes = 0;
    char *text = hf_alloc(room);

    while (text != NULL) {
        history->text = text;
        bytes += fread(text + bytes, 1, room - 1 - bytes, file);
        text[bytes] = '\0';
        if (bytes > most_bytes)
            return hf_error_set(error, HF_ELIMIT,
                                "the history is too long; expected at most "
                                "%zu bytes",
                                most_bytes);
        if (bytes < room - 1)
            break;
        room *= 2;
        text = hf_realloc(text, room);
    }
    if (text == NULL)
        return no_memory(error);
    if (ferror(file))
        return hf_error_set(error, HF_EDIR, "the history cannot be read: %s",
                            strerror(errno));
    if (strlen(text) != bytes)
        return hf_error_set(error, HF_EINVAL,
                            "the history has a NUL in it; expected text");
    return HF_OK;
}

/* ----------------------------------------------------------------- lines -- */

/* Parse ${text}, the line number ${line}, and keep its event. */
static hf_status add_event(struct history_reader *reader, char *text,
                           size_t line)
{
    struct hf_error why;
    struct history_entry *entry;

    if (reader->entry_count == reader->entry_room) {
        size_t room = reader->entry_room == 0 ? 1024 : 2 * reader->entry_room;

        entry = hf_realloc(reader->entries, room * sizeof *entry);
        if (entry == NULL)
            return no_memory(reader->error);
        reader->entries = entry;
        reader->entry_room = room;
    }
    entry = &reader->entries[reader->entry_count];
    entry->line = line;
    if (hf_history_event_parse(text, &entry->event, &why) != HF_OK)
        return hf_error_set(reader->error, HF_EINVAL, "line %zu: %s", line,
                            why.text);
    reader->entry_count++;
    return HF_OK;
}

/* Parse all lines of the file. */
static hf_status parse_lines(struct history_reader *reader, char *text)
{
    hf_status status = HF_OK;
    size_t line = 1;

    for (char *end; *text != '\0' && status == HF_OK; text = end, line++) {
        end = text + strcspn(text, "\n");
        if (*end != '\0')
            *end++ = '\0';
        if (line == 1 && strcmp(text, HF_HISTORY_FIRST_LINE) != 0)
            return hf_error_set(
                reader->error, HF_EINVAL, "line 1: %s; expected '%s'",
                hf_quote(text, strlen(text)).text, HF_HISTORY_FIRST_LINE);
        if (line > 1 && *text != '#' && *text != '\0')
            status = add_event(reader, text, line);
    }
    if (line == 1)
        return hf_error_set(reader->error, HF_EINVAL,
                            "the history is empty; expected '%s' in its first "
                            "line",
                            HF_HISTORY_FIRST_LINE);
    return status;
}

/* Compare by time, then by line, so that the sort is stable. */
static int compare_events(const void *a, const void *b)
{
    const struct history_entry *x = a, *y = b;

    if (x->event.at_us != y->event.at_us)
        return x->event.at_us < y->event.at_us ? -1 : 1;
    return x->line < y->line ? -1 : x->line > y->line;
}

/* -------------------------------------------------------------- attempts -- */

/* Refuse the history, because the event does not fit what the client did
 * before. */
static hf_status invalid_event(struct history_reader *reader,
                               const struct history_entry *entry,
                               const char *why)
{
    const struct hf_history_event *event = &entry->event;

    return hf_error_set(reader->error, HF_EINVAL,
                        "line %zu: client %s, lock %s: %s", entry->line,
                        hf_quote(event->client, strlen(event->client)).text,
                        hf_quote(event->lock, strlen(event->lock)).text, why);
}

/* Return the attempt of ${client} at ${lock} that has not ended, or NULL. */
static struct hf_history_attempt *find_attempt(struct history_reader *reader,
                                               uint32_t client, uint32_t lock)
{
    uint32_t index = reader->clients[client].first_attempt;

    while (index != 0) {
        struct hf_history_attempt *attempt =
            &reader->history->attempts[index - 1];

        if (attempt->lock == lock)
            return attempt;
        index = attempt->next;
    }
    return NULL;
}

/* Apply WANT: begin an attempt. */
static hf_status begin_attempt(struct history_reader *reader,
                               const struct history_entry *entry,
                               uint32_t client, uint32_t lock)
{
    struct hf_history *history = reader->history;
    struct hf_history_attempt *more;

    if (find_attempt(reader, client, lock) != NULL)
        return invalid_event(
            reader, entry,
            "wants what it wants already; expected an end of that "
            "first");
    if (history->attempt_count == reader->attempt_room) {
        uint32_t room =
            reader->attempt_room == 0 ? 1024 : 2 * reader->attempt_room;

        more = hf_realloc(history->attempts, room * sizeof *more);
        if (more == NULL)
            return no_memory(reader->error);
        history->attempts = more;
        reader->attempt_room = room;
    }
    history->attempts[history->attempt_count++] = (struct hf_history_attempt){
        .client = client,
        .lock = lock,
        .kind = entry->event.kind,
        .permits = entry->event.permits,
        .limit = entry->event.limit,
        .want_us = entry->event.at_us,
        .queued_us = HF_FOREVER,
        .granted_us = HF_FOREVER,
        .shared_us = HF_FOREVER,
        .ended_us = HF_FOREVER,
        .want_line = entry->line,
        .next = reader->clients[client].first_attempt,
    };
    reader->clients[client].first_attempt = history->attempt_count;
    return HF_OK;
}

/* Note how ${attempt} ended, and remove it from its client's list of open
 * attempts. */
static void end_attempt(struct history_reader *reader,
                        struct hf_history_attempt *attempt,
                        const struct history_entry *entry,
                        enum hf_history_ending ending)
{
    uint32_t *index = &reader->clients[attempt->client].first_attempt;

    attempt->ended_us = entry->event.at_us;
    attempt->ended_line = entry->line;
    attempt->ending = ending;
    while (&reader->history->attempts[*index - 1] != attempt)
        index = &reader->history->attempts[*index - 1].next;
    *index = attempt->next;
}

/* Apply WRITE: keep the write for the rule FENCE. */
static hf_status add_write(struct history_reader *reader,
                           const struct hf_history_attempt *attempt,
                           const struct history_entry *entry)
{
    struct hf_history *history = reader->history;
    struct hf_fenced_write *more;

    if (history->write_count == reader->write_room) {
        uint32_t room = reader->write_room == 0 ? 1024 : 2 * reader->write_room;

        more = hf_realloc(history->writes, room * sizeof *more);
        if (more == NULL)
            return no_memory(reader->error);
        history->writes = more;
        reader->write_room = room;
    }
    history->writes[history->write_count++] = (struct hf_fenced_write){
        .attempt = (uint32_t)(attempt - history->attempts),
        .at_us = entry->event.at_us,
        .token = entry->event.token,
        .accepted = entry->event.accepted,
        .line = entry->line,
    };
    return HF_OK;
}

/* Does ${event}, which is one of a holder, have a token? */
static bool has_token(const struct hf_history_event *event)
{
    return event->type != HF_HISTORY_HELD && event->type != HF_HISTORY_SEEN;
}

static void extend_safe_until(struct hf_history_attempt *attempt,
                              const struct hf_history_event *event)
{
    if (event->safe_until_us > attempt->safe_until_us)
        attempt->safe_until_us = event->safe_until_us;
}

uint64_t hf_history_attempt_until_us(const struct hf_history_attempt *attempt)
{
    return attempt->safe_until_us > attempt->seen_us ? attempt->safe_until_us
                                                     : attempt->seen_us;
}

/* Apply an event of a client that holds the lock. */
static hf_status on_holder(struct history_reader *reader,
                           struct hf_history_attempt *attempt,
                           const struct history_entry *entry)
{
    const struct hf_history_event *event = &entry->event;

    if (attempt->granted_us == HF_FOREVER)
        return invalid_event(reader, entry,
                             "has not been granted; expected so");
    if (has_token(event) && event->token != attempt->token)
        return invalid_event(reader, entry,
                             "has another token; expected that of the grant");
    switch (event->type) {
    case HF_HISTORY_HELD:
        extend_safe_until(attempt, event);
        return HF_OK;
    case HF_HISTORY_SEEN:
        if (event->seen_us > attempt->seen_us)
            attempt->seen_us = event->seen_us;
        return HF_OK;
    case HF_HISTORY_SHARED:
        if (attempt->kind != HF_KIND_WRITE)
            return invalid_event(
                reader, entry, "is no writer; expected one to become a reader");
        if (attempt->shared_us == HF_FOREVER)
            attempt->shared_us = event->at_us;
        return HF_OK;
    case HF_HISTORY_WRITE:
        return add_write(reader, attempt, entry);
    case HF_HISTORY_RELEASE:
        end_attempt(reader, attempt, entry, HF_ENDING_RELEASED);
        return HF_OK;
    default:
        end_attempt(reader, attempt, entry, HF_ENDING_LOST);
        return HF_OK;
    }
}

/* Apply an event of a client that waits for the lock. */
static hf_status on_waiter(struct history_reader *reader,
                           struct hf_history_attempt *attempt,
                           const struct history_entry *entry)
{
    const struct hf_history_event *event = &entry->event;

    if (attempt->granted_us != HF_FOREVER)
        return invalid_event(reader, entry,
                             "has been granted; expected not so");
    switch (event->type) {
    case HF_HISTORY_QUEUED:
        if (attempt->queued_us == HF_FOREVER)
            attempt->queued_us = event->at_us;
        break;
    case HF_HISTORY_UNQUEUED:
        attempt->queued_us = HF_FOREVER;
        break;
    case HF_HISTORY_GRANT:
        attempt->granted_us = event->at_us;
        attempt->granted_line = entry->line;
        attempt->token = event->token;
        extend_safe_until(attempt, event);
        break;
    default:
        end_attempt(reader, attempt, entry, HF_ENDING_GAVE_UP);
        break;
    }
    return HF_OK;
}

/* Apply an event about one lock. */
static hf_status on_lock(struct history_reader *reader,
                         const struct history_entry *entry, uint32_t client)
{
    struct hf_history_attempt *attempt;
    uint32_t lock;

    if (!hf_name_table_intern(&reader->history->locks, entry->event.lock,
                              &lock))
        return no_memory(reader->error);
    if (entry->event.type == HF_HISTORY_WANT)
        return begin_attempt(reader, entry, client, lock);
    attempt = find_attempt(reader, client, lock);
    if (attempt == NULL)
        return invalid_event(reader, entry, "is not wanted; expected so");
    switch (entry->event.type) {
    case HF_HISTORY_QUEUED:
    case HF_HISTORY_UNQUEUED:
    case HF_HISTORY_GRANT:
    case HF_HISTORY_GAVEUP:
        return on_waiter(reader, attempt, entry);
    default:
        return on_holder(reader, attempt, entry);
    }
}

/* --------------------------------------------------------------- clients -- */

/* Apply DIED: end all attempts of the client. */
static void kill_client(struct history_reader *reader,
                        struct history_client *client,
                        const struct history_entry *entry)
{
    while (client->first_attempt != 0)
        end_attempt(reader,
                    &reader->history->attempts[client->first_attempt - 1],
                    entry, HF_ENDING_DIED);
    client->dead = true;
    reader->history->deaths++;
}

/* Apply FROZEN or THAWED: note in all open attempts of the client that it could
 * not be notified of a loss before ${until_us}. */
static void freeze_client(struct history_reader *reader,
                          const struct history_client *client,
                          uint64_t until_us)
{
    for (uint32_t index = client->first_attempt; index != 0;) {
        struct hf_history_attempt *attempt =
            &reader->history->attempts[index - 1];

        attempt->thawed_us = until_us;
        index = attempt->next;
    }
}

/* Apply an event about the whole client. */
static void on_client(struct history_reader *reader,
                      const struct history_entry *entry, uint32_t number)
{
    struct history_client *client = &reader->clients[number];

    switch (entry->event.type) {
    case HF_HISTORY_DIED:
        kill_client(reader, client, entry);
        break;
    case HF_HISTORY_FROZEN:
        freeze_client(reader, client, HF_FOREVER);
        reader->history->freezes++;
        break;
    default:
        freeze_client(reader, client, entry->event.at_us);
        break;
    }
}

/* ------------------------------------------------------------------ read -- */

/* Give each client its number, so that .clients can be allocated. */
static hf_status intern_clients(struct history_reader *reader)
{
    struct hf_name_table *names = &reader->history->clients;
    uint32_t number;

    for (size_t i = 0; i < reader->entry_count; i++)
        if (!hf_name_table_intern(names, reader->entries[i].event.client,
                                  &number))
            return no_memory(reader->error);
    reader->clients = hf_alloc((names->count + 1) * sizeof *reader->clients);
    return reader->clients != NULL ? HF_OK : no_memory(reader->error);
}

/* Apply one event.  Events of a client after its death are ignored.  It may
 * have written them to the pipe just before it was killed, while its parent
 * recorded the death with an earlier time. */
static hf_status apply_event(struct history_reader *reader,
                             const struct history_entry *entry)
{
    uint32_t client;

    if (!hf_name_table_intern(&reader->history->clients, entry->event.client,
                              &client))
        return no_memory(reader->error);
    if (reader->clients[client].dead)
        return HF_OK;
    if (entry->event.lock != NULL)
        return on_lock(reader, entry, client);
    on_client(reader, entry, client);
    return HF_OK;
}

hf_status hf_history_read(FILE *file, size_t most_bytes,
                          struct hf_history *history, struct hf_error *error)
{
    struct history_reader reader = {.history = history, .error = error};
    hf_status status;

    *history = (struct hf_history){0};
    status = read_text(file, most_bytes, history, error);
    if (status == HF_OK)
        status = parse_lines(&reader, history->text);
    if (status == HF_OK)
        status = intern_clients(&reader);
    if (status == HF_OK && reader.entry_count > 0) {
        qsort(reader.entries, reader.entry_count, sizeof *reader.entries,
              compare_events);
        history->event_count = reader.entry_count;
        history->began_us = reader.entries[0].event.at_us;
        history->ended_us = reader.entries[reader.entry_count - 1].event.at_us;
    }
    for (size_t i = 0; i < reader.entry_count && status == HF_OK; i++)
        status = apply_event(&reader, &reader.entries[i]);
    hf_free(reader.entries);
    hf_free(reader.clients);
    return status;
}

void hf_history_free(struct hf_history *history)
{
    hf_name_table_free(&history->clients);
    hf_name_table_free(&history->locks);
    hf_free(history->attempts);
    hf_free(history->writes);
    hf_free(history->text);
    *history = (struct hf_history){0};
}
