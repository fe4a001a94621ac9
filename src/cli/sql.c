/* SPDX-License-Identifier: Apache-2.0 */
/*
 * holdfast sql: prints the SQL that the library would run by itself, for
 * installations where it may not.
 */
#include "cli/commands.h"

#include <stdio.h>

#include "command/command_line.h"
#include "command/exit_status.h"
#include "command/ui.h"
#include "engines/postgres/schema.h"

/* The texts that can be printed. */
enum sql_part { SQL_SCHEMA, SQL_FUNCTIONS, SQL_GRANT };

struct sql_options {
    enum sql_part part;
};

#define FIELD(field) HF_OPTION_FIELD(struct sql_options, field)

static const char one_part[] =
    "--functions and --grant contradict each other: give one";

static const struct hf_option_row rows[] = {
    HF_OPTION('G', "grant", NULL, hf_option_set, FIELD(part), .set = SQL_GRANT,
              .one_of = one_part,
              .help = "print what gives a role the rights to use it"),
    HF_OPTION('O', "functions", NULL, hf_option_set, FIELD(part),
              .set = SQL_FUNCTIONS, .one_of = one_part,
              .help = "print the functions of this version, not the tables"),
};

static const struct hf_command sql_command = {
    .name = "sql",
    .synopsis = "[OPTION]",
    .about =
        "Print the SQL that makes the schema 'holdfast', where locks are kept\n"
        "in a PostgreSQL database, and the schema '" HF_PG_FUNCTIONS
        "' with the\n"
        "functions of this version.  The library makes them by itself when it\n"
        "may; where it may not, somebody who may does this once:\n"
        "\n"
        "    holdfast sql | psql -1 DATABASE\n",
    .notes = "The rights are given to the role NAME by\n"
             "\n"
             "    holdfast sql --grant | psql -1 -v role=NAME DATABASE\n"
             "\n"
             "In a database that an earlier version uses:\n"
             "\n"
             "    holdfast sql --functions | psql -1 DATABASE\n"
             "\n"
             "See holdfast-sql(1).\n",
    .rows = rows,
    .row_count = sizeof rows / sizeof *rows,
};

int hf_sql_main(int argc, char **argv)
{
    static const char *const texts[] = {
        [SQL_SCHEMA] = hf_pg_schema,
        [SQL_FUNCTIONS] = hf_pg_functions,
        [SQL_GRANT] = hf_pg_grant,
    };
    struct sql_options options = {SQL_SCHEMA};
    int exit_code;

    if (!hf_command_line_read(&sql_command, argc, argv, &options, &exit_code))
        return exit_code;
    fputs(texts[options.part], stdout);
    return hf_command_line_end_output();
}
