/* SPDX-License-Identifier: Apache-2.0 */
/*
 * holdfast sql: prints the SQL that the library would run by itself, for
 * installations where it may not.
 */
#include "cli/sql.h"

#include <stdio.h>

#include "cli/command_line.h"
#include "cli/exit_status.h"
#include "cli/ui.h"
#include "core/error.h"
#include "engines/postgres/schema.h"

struct sql_options {
    bool grant; /* print the rights, not the schema */
};

#define FIELD(field) HF_OPTION_FIELD(struct sql_options, field)

static const struct hf_option_row rows[] = {
    HF_OPTION('g', "grant", NULL, hf_option_set, FIELD(grant), .set = true,
              .help = "print what gives a role the rights to use it"),
};

static hf_status read_operands(const struct hf_command_line *line,
                               void *options, struct hf_error *error)
{
    (void)options;
    if (line->operands == line->argc)
        return HF_OK;
    return hf_error_set(error, HF_EINVAL,
                        "'%.80s': not expected; see 'holdfast sql --help'",
                        line->argv[line->operands]);
}

static const struct hf_command sql_command = {
    .name = "sql",
    .synopsis = "[OPTION]",
    .about =
        "Print the SQL that makes the schema 'holdfast', where locks are kept\n"
        "in a PostgreSQL database.  The library makes it by itself when it\n"
        "may; where it may not, somebody who may does this once:\n"
        "\n"
        "    holdfast sql | psql -1 DATABASE\n",
    .notes = "The rights are given to the role NAME by\n"
             "\n"
             "    holdfast sql --grant | psql -1 -v role=NAME DATABASE\n"
             "\n"
             "See holdfast-sql(1).\n",
    .rows = rows,
    .row_count = sizeof rows / sizeof *rows,
    .read_operands = read_operands,
};

int hf_sql_main(int argc, char **argv)
{
    struct sql_options options = {false};
    int exit_code;

    if (!hf_command_line_read(&sql_command, argc, argv, &options, &exit_code))
        return exit_code;
    fputs(options.grant ? hf_pg_grant : hf_pg_schema, stdout);
    return hf_command_line_end_output();
}
