/* SPDX-License-Identifier: Apache-2.0 */
#include "history/history.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "core/memory.h"
#include "core/quote.h"

#define FIRST_TEXT_BYTES ((size_t)1 << 16)

/* A note and where it was. */
struct noted {
    struct hf_note said;
    size_t line;
};

struct client {
    uint32_t first; /* attempt that goes on, its place + 1 */
    bool dead;
};

struct reader {
    struct hf_history *history;
    struct hf_error *error;
    struct noted *noted; /* by time */
    size_t noted_count, noted_room;
    struct client *clients; /* by number */
    uint32_t attempt_room;
    uint32_t write_room;
};

static hf_status no_memory(struct hf_error *error)
{
    return hf_error_set(error, HF_ENOMEM,
                        "no memory is left for the history; expected a "
                        "shorter one, or more memory");
}

/* ------------------------------------------------------------------ text -- */

static hf_status read_text(FILE *file, struct hf_history *history,
                           struct hf_error *error)
{
    size_t room = FIRST_TEXT_BYTES, bytes = 0;
    char *text = hf_alloc(room);

    while (text != NULL) {
        char *more;

        history->text = text;
        bytes += fread(text + bytes, 1, room - 1 - bytes, file);
        text[bytes] = '\0';
        if (bytes < room - 1)
            break;
        if (room >= HF_HISTORY_BYTES)
            return hf_error_set(error, HF_ELIMIT,
                                "the history is too long; expected less than "
                                "%zu bytes",
                                HF_HISTORY_BYTES);
        room *= 2;
        more = hf_realloc(text, room);
        text = more;
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

static hf_status take_note(struct reader *reader, char *text, size_t line)
{
    struct hf_error why;
    struct noted *noted;

    if (reader->noted_count == reader->noted_room) {
        size_t room = reader->noted_room == 0 ? 1024 : 2 * reader->noted_room;

        noted = hf_realloc(reader->noted, room * sizeof *noted);
        if (noted == NULL)
            return no_memory(reader->error);
        reader->noted = noted;
        reader->noted_room = room;
    }
    noted = &reader->noted[reader->noted_count];
    noted->line = line;
    if (hf_note_parse(text, &noted->said, &why) != HF_OK)
        return hf_error_set(reader->error, HF_EINVAL, "line %zu: %s", line,
                            why.text);
    reader->noted_count++;
    return HF_OK;
}

static hf_status note_lines(struct reader *reader, char *text)
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
            status = take_note(reader, text, line);
    }
    if (line == 1)
        return hf_error_set(reader->error, HF_EINVAL,
                            "the history is empty; expected '%s' in its first "
                            "line",
                            HF_HISTORY_FIRST_LINE);
    return status;
}

static int compare(const void *a, const void *b)
{
    const struct noted *x = a, *y = b;

    if (x->said.at_us != y->said.at_us)
        return x->said.at_us < y->said.at_us ? -1 : 1;
    return x->line < y->line ? -1 : x->line > y->line;
}

/* -------------------------------------------------------------- attempts -- */

static hf_status nonsense(struct reader *reader, const struct noted *noted,
                          const char *why)
{
    const struct hf_note *note = &noted->said;

    return hf_error_set(reader->error, HF_EINVAL,
                        "line %zu: client %s, lock %s: %s", noted->line,
                        hf_quote(note->client, strlen(note->client)).text,
                        hf_quote(note->lock, strlen(note->lock)).text, why);
}

/* What the client is at with that lock, or NULL. */
static struct hf_attempt *find(struct reader *reader, uint32_t client,
                               uint32_t lock)
{
    uint32_t place = reader->clients[client].first;

    while (place != 0) {
        struct hf_attempt *attempt = &reader->history->attempts[place - 1];

        if (attempt->lock == lock)
            return attempt;
        place = attempt->next;
    }
    return NULL;
}

static hf_status begin(struct reader *reader, const struct noted *noted,
                       uint32_t client, uint32_t lock)
{
    struct hf_history *history = reader->history;
    struct hf_attempt *more;

    if (find(reader, client, lock) != NULL)
        return nonsense(reader, noted,
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
    history->attempts[history->attempt_count++] = (struct hf_attempt){
        .client = client,
        .lock = lock,
        .kind = noted->said.kind,
        .permits = noted->said.permits,
        .limit = noted->said.limit,
        .want_us = noted->said.at_us,
        .queued_us = HF_FOREVER,
        .granted_us = HF_FOREVER,
        .shared_us = HF_FOREVER,
        .ended_us = HF_FOREVER,
        .want_line = noted->line,
        .next = reader->clients[client].first,
    };
    reader->clients[client].first = history->attempt_count;
    return HF_OK;
}

static void end(struct reader *reader, struct hf_attempt *attempt,
                const struct noted *noted, enum hf_ending ending)
{
    uint32_t *place = &reader->clients[attempt->client].first;

    attempt->ended_us = noted->said.at_us;
    attempt->ended_line = noted->line;
    attempt->ending = ending;
    while (&reader->history->attempts[*place - 1] != attempt)
        place = &reader->history->attempts[*place - 1].next;
    *place = attempt->next;
}

static hf_status keep_write(struct reader *reader,
                            const struct hf_attempt *attempt,
                            const struct noted *noted)
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
        .at_us = noted->said.at_us,
        .token = noted->said.token,
        .accepted = noted->said.accepted,
        .line = noted->line,
    };
    return HF_OK;
}

static bool has_token(const struct hf_note *note)
{
    return note->word != HF_NOTE_HELD && note->word != HF_NOTE_SEEN;
}

static void promise(struct hf_attempt *attempt, const struct hf_note *note)
{
    if (note->safe_until_us > attempt->safe_until_us)
        attempt->safe_until_us = note->safe_until_us;
}

uint64_t hf_attempt_until_us(const struct hf_attempt *attempt)
{
    return attempt->safe_until_us > attempt->seen_us ? attempt->safe_until_us
                                                     : attempt->seen_us;
}

static hf_status on_holder(struct reader *reader, struct hf_attempt *attempt,
                           const struct noted *noted)
{
    const struct hf_note *note = &noted->said;

    if (attempt->granted_us == HF_FOREVER)
        return nonsense(reader, noted, "has not been granted; expected so");
    if (has_token(note) && note->token != attempt->token)
        return nonsense(reader, noted,
                        "has another token; expected that of the grant");
    switch (note->word) {
    case HF_NOTE_HELD:
        promise(attempt, note);
        return HF_OK;
    case HF_NOTE_SEEN:
        if (note->seen_us > attempt->seen_us)
            attempt->seen_us = note->seen_us;
        return HF_OK;
    case HF_NOTE_SHARED:
        if (attempt->kind != HF_KIND_WRITE)
            return nonsense(reader, noted,
                            "is no writer; expected one to become a reader");
        if (attempt->shared_us == HF_FOREVER)
            attempt->shared_us = note->at_us;
        return HF_OK;
    case HF_NOTE_WRITE:
        return keep_write(reader, attempt, noted);
    case HF_NOTE_RELEASE:
        end(reader, attempt, noted, HF_ENDING_RELEASED);
        return HF_OK;
    default:
        end(reader, attempt, noted, HF_ENDING_LOST);
        return HF_OK;
    }
}

static hf_status on_waiter(struct reader *reader, struct hf_attempt *attempt,
                           const struct noted *noted)
{
    const struct hf_note *note = &noted->said;

    if (attempt->granted_us != HF_FOREVER)
        return nonsense(reader, noted, "has been granted; expected not so");
    switch (note->word) {
    case HF_NOTE_QUEUED:
        if (attempt->queued_us == HF_FOREVER)
            attempt->queued_us = note->at_us;
        break;
    case HF_NOTE_UNQUEUED:
        attempt->queued_us = HF_FOREVER;
        break;
    case HF_NOTE_GRANT:
        attempt->granted_us = note->at_us;
        attempt->granted_line = noted->line;
        attempt->token = note->token;
        promise(attempt, note);
        break;
    default:
        end(reader, attempt, noted, HF_ENDING_GAVE_UP);
        break;
    }
    return HF_OK;
}

static hf_status on_lock(struct reader *reader, const struct noted *noted,
                         uint32_t client)
{
    struct hf_attempt *attempt;
    uint32_t lock;

    if (!hf_names_number(&reader->history->locks, noted->said.lock, &lock))
        return no_memory(reader->error);
    if (noted->said.word == HF_NOTE_WANT)
        return begin(reader, noted, client, lock);
    attempt = find(reader, client, lock);
    if (attempt == NULL)
        return nonsense(reader, noted, "is not wanted; expected so");
    switch (noted->said.word) {
    case HF_NOTE_QUEUED:
    case HF_NOTE_UNQUEUED:
    case HF_NOTE_GRANT:
    case HF_NOTE_GAVEUP:
        return on_waiter(reader, attempt, noted);
    default:
        return on_holder(reader, attempt, noted);
    }
}

/* --------------------------------------------------------------- clients -- */

static void die(struct reader *reader, struct client *client,
                const struct noted *noted)
{
    while (client->first != 0)
        end(reader, &reader->history->attempts[client->first - 1], noted,
            HF_ENDING_DIED);
    client->dead = true;
    reader->history->deaths++;
}

/* Until ${until_us} it cannot have been told of anything. */
static void freeze(struct reader *reader, const struct client *client,
                   uint64_t until_us)
{
    for (uint32_t place = client->first; place != 0;) {
        struct hf_attempt *attempt = &reader->history->attempts[place - 1];

        attempt->thawed_us = until_us;
        place = attempt->next;
    }
}

static void on_client(struct reader *reader, const struct noted *noted,
                      uint32_t number)
{
    struct client *client = &reader->clients[number];

    switch (noted->said.word) {
    case HF_NOTE_DIED:
        die(reader, client, noted);
        break;
    case HF_NOTE_FROZEN:
        freeze(reader, client, HF_FOREVER);
        reader->history->freezes++;
        break;
    default:
        freeze(reader, client, noted->said.at_us);
        break;
    }
}

/* ------------------------------------------------------------------ read -- */

static hf_status number_clients(struct reader *reader)
{
    struct hf_names *names = &reader->history->clients;
    uint32_t number;

    for (size_t i = 0; i < reader->noted_count; i++)
        if (!hf_names_number(names, reader->noted[i].said.client, &number))
            return no_memory(reader->error);
    reader->clients = hf_alloc((names->count + 1) * sizeof *reader->clients);
    return reader->clients != NULL ? HF_OK : no_memory(reader->error);
}

/* What a client is said to have done after its death was put into the pipe
 * before, or is not true: it counts for nothing. */
static hf_status take(struct reader *reader, const struct noted *noted)
{
    uint32_t client;

    if (!hf_names_number(&reader->history->clients, noted->said.client,
                         &client))
        return no_memory(reader->error);
    if (reader->clients[client].dead)
        return HF_OK;
    if (noted->said.lock != NULL)
        return on_lock(reader, noted, client);
    on_client(reader, noted, client);
    return HF_OK;
}

hf_status hf_history_read(FILE *file, struct hf_history *history,
                          struct hf_error *error)
{
    struct reader reader = {.history = history, .error = error};
    hf_status status;

    *history = (struct hf_history){0};
    status = read_text(file, history, error);
    if (status == HF_OK)
        status = note_lines(&reader, history->text);
    if (status == HF_OK)
        status = number_clients(&reader);
    if (status == HF_OK && reader.noted_count > 0) {
        qsort(reader.noted, reader.noted_count, sizeof *reader.noted, compare);
        history->note_count = reader.noted_count;
        history->began_us = reader.noted[0].said.at_us;
        history->ended_us = reader.noted[reader.noted_count - 1].said.at_us;
    }
    for (size_t i = 0; i < reader.noted_count && status == HF_OK; i++)
        status = take(&reader, &reader.noted[i]);
    hf_free(reader.noted);
    hf_free(reader.clients);
    return status;
}

void hf_history_free(struct hf_history *history)
{
    hf_names_free(&history->clients);
    hf_names_free(&history->locks);
    hf_free(history->attempts);
    hf_free(history->writes);
    hf_free(history->text);
    *history = (struct hf_history){0};
}
