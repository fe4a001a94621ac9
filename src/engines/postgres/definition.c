/* SPDX-License-Identifier: Apache-2.0 */
/* How the schemas of a server differ from ours.  Both are sets of lines, and a
 * change adds a line, removes one, or does both. */
#include <stdio.h>
#include <string.h>

#include "engines/postgres/pg_private.h"
#include "engines/postgres/schema.h"

/* How much of a line a message shows. */
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

/* Is the first of ${lines} about a function, or what functions return? */
static bool is_of_functions(const char *lines)
{
    const char *name = strstr(lines, HF_PG_FUNCTIONS ".");

    return name != NULL && name < lines + strcspn(lines, "\n");
}

/* The first of ${lines} that is not in ${others}; lines about functions count
 * only if ${functions}.  NULL: there is none. */
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
