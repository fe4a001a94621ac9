/* SPDX-License-Identifier: Apache-2.0 */
/* What a PostgreSQL server says to a client of leased tickets: rows of
 * holdfast.answer, as libpq has read them, and notices.  An answer is a byte
 * with the number of rows and one whose bits make it another kind of result, or
 * one whose commit is in doubt;
 * a value is a byte, 255 for NULL, odd for as many bytes as its type has, else
 * half of it, and the bytes. */
#include <string.h>

#include "engines/postgres/private.h"
#include "fuzz.h"
#include "talk.h"

enum { COLUMNS = 13, ROWS = 8, BYTES = 128 };

static const struct {
    Oid type;
    size_t bytes;
} columns[COLUMNS] = {{23, 4},    {20, 8}, {23, 4}, {16, 1}, {17, 32},
                      {2950, 16}, {20, 8}, {23, 4}, {23, 4}, {17, 8},
                      {20, 8},    {23, 4}, {20, 8}};

static struct hf_engine engine;
static struct hf_store store = {.engine = &engine, .backend = 7};

static uint64_t now_ms(void *host)
{
    return ((struct talk *)host)->now_ms;
}

static PGresult *result_of(uint8_t how)
{
    ExecStatusType status = how & 1 ? PGRES_COMMAND_OK : PGRES_TUPLES_OK;
    PGresult *result = PQmakeEmptyPGresult(NULL, status);
    PGresAttDesc described[COLUMNS];
    char name[] = "column";

    MUST(result != NULL);
    memset(described, 0, sizeof described);
    for (size_t i = 0; i < COLUMNS; i++) {
        described[i].name = name;
        described[i].typid = columns[i].type;
        described[i].format = how & 2 ? 0 : 1;
    }
    if (how & 4)
        described[how >> 4 & 7].typid = 25;
    MUST(PQsetResultAttrs(result, how & 8 ? COLUMNS - 1 : COLUMNS, described));
    return result;
}

static void put_value(struct talk *talk, PGresult *result, int row, int column)
{
    uint8_t how = talk_next(talk);
    size_t count = how & 1 ? columns[column].bytes : how / 2;
    char bytes[BYTES] = "";
    const uint8_t *from;

    if (how == 255) {
        MUST(PQsetvalue(result, row, column, NULL, -1));
        return;
    }
    from = talk_some(talk, &count);
    if (count > 0)
        memcpy(bytes, from, count);
    MUST(PQsetvalue(result, row, column, bytes, (int)count));
}

static void answer(struct talk *talk, struct hf_store_call *call)
{
    uint8_t which = talk_next(talk);
    int rows = which % ROWS;
    PGresult *result = result_of(talk_next(talk));
    const char *doubt = which & 64 ? "it may not have been committed" : "";
    char why[HF_PG_TEXT_BYTES] = "";
    uint64_t number = store.number;
    int width = PQnfields(result);

    for (int row = 0; row < rows; row++) {
        for (int column = 0; column < width; column++)
            put_value(talk, result, row, column);
    }
    engine.leased = talk->leased;
    engine.host.now_ms = now_ms;
    engine.host.host = talk;
    if (!hf_pg_answer(&store, call, result, doubt, why)) {
        MUST(why[0] != '\0');
        talk_down(talk);
    }
    MUST(store.number == number);
    PQclear(result);
}

static void notice(struct talk *talk)
{
    size_t count = talk_next(talk);
    const uint8_t *bytes = talk_some(talk, &count);
    char *text = fuzz_text(bytes, count);
    PGnotify notify = {.extra = text};

    engine.leased = talk->leased;
    engine.host.now_ms = now_ms;
    engine.host.host = talk;
    hf_pg_notice(&store, &notify);
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    static const struct talk_words words = {answer, notice};
    struct talk talk = {0};

    talk_run(&talk, &words, &store, data, bytes);
    return 0;
}
