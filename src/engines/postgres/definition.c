/* SPDX-License-Identifier: Apache-2.0 */
/* Compares the schemas of a server with ours.  Both are described by sets of
 * lines; a change of a schema adds a line, removes one, or does both. */
#include <stdio.h>
#include <string.h>

#include "engines/postgres/pg_private.h"
#include "engines/postgres/schema.h"

/* The longest part of a line that a message quotes. */
#define SHOWN_BYTES 100

static const char *next_line(const char *line)
{
    line += strcspn(line, "\n");
    return *line == '\0' ? line : line + 1;
}

static bool has_line(const char *lines, const char *line)
{
    size_t length = strcspn(line, "\n");

    for (; *lines != '\0'; lines = next_line(lines)) {
        if (strcspn(lines, "\n") == length && memcmp(lines, line, length) == 0)
            return true;
    }
    return false;
}

/* Returns whether the first of ${lines} is about a function or a type that
 * functions return. */
static bool is_of_functions(const char *lines)
{
    const char *name = strstr(lines, HF_PG_FUNCTIONS ".");

    return name != NULL && name < lines + strcspn(lines, "\n");
}

/* Returns the first of ${lines} that is not in ${others}; NULL: there is none.
 * Unless ${functions} is set, lines about functions do not count. */
static const char *first_missing(const char *lines, const char *others,
                                 bool functions)
{
    for (; *lines != '\0'; lines = next_line(lines)) {
        if (!has_line(others, lines) && (functions || !is_of_functions(lines)))
            return lines;
    }
    return NULL;
}

bool hf_pg_definition_differs(const char *found, bool functions,
                              char text[HF_PG_TEXT_BYTES])
{
    const char *extra = first_missing(found, hf_pg_definition, true);
    const char *lacks = first_missing(hf_pg_definition, found, functions);
    char line[SHOWN_BYTES];

    if (extra == NULL && lacks == NULL)
        return false;
    hf_pg_one_line(line, sizeof line, extra != NULL ? extra : lacks);
    (void)snprintf(text, HF_PG_TEXT_BYTES, "it %s \"%s\"",
                   extra != NULL ? "has" : "lacks", line);
    return true;
}
