/* SPDX-License-Identifier: Apache-2.0 */
/* holdfast sql: what the library would do by itself, for those who may not let
 * it. */
#include "cli/sql.h"

#include <stdio.h>
#include <string.h>

#include "cli/exit_status.h"
#include "cli/say.h"
#include "engines/postgres/schema.h"

static const char usage[] = "usage: holdfast sql [--upgrade | --grant]\n"
                            "\n"
                            "Print the SQL that makes the schema 'holdfast', "
                            "where locks are kept in a\n"
                            "PostgreSQL database.  The library makes it by "
                            "itself when it may; where it\n"
                            "may not, somebody who may does this once:\n"
                            "\n"
                            "    holdfast sql | psql -1 DATABASE\n"
                            "\n"
                            "With --upgrade, print what takes the schema of "
                            "an earlier version to this\n"
                            "one.  Programs with an earlier library are "
                            "refused from then on.\n"
                            "\n"
                            "With --grant, print what gives a role the rights "
                            "to use it:\n"
                            "\n"
                            "    holdfast sql --grant |\n"
                            "        psql -1 -v role=NAME DATABASE\n"
                            "\n"
                            "See holdfast-sql(1).\n";

static int print(const char *text)
{
    if (fputs(text, stdout) >= 0 && fflush(stdout) == 0)
        return 0;
    hf_say("standard output cannot be written to; expected room there");
    return HF_EXIT_DIRECTORY;
}

int hf_sql_main(int argc, char **argv)
{
    if (argc == 1)
        return print(hf_pg_schema);
    if (argc == 2 && strcmp(argv[1], "--upgrade") == 0)
        return print(hf_pg_upgrade);
    if (argc == 2 && strcmp(argv[1], "--grant") == 0)
        return print(hf_pg_grant);
    if (argc == 2 &&
        (strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "--help") == 0))
        return print(usage);
    hf_say("'%.80s': not expected; see 'holdfast sql --help'", argv[1]);
    return HF_EXIT_USAGE;
}
