/* SPDX-License-Identifier: Apache-2.0 */
/*
 * holdfast sql: prints the SQL that the library would run by itself, for
 * installations where it may not.
 */
#include "cli/sql.h"

#include <getopt.h>
#include <stdio.h>

#include "cli/exit_status.h"
#include "cli/option_value.h"
#include "cli/ui.h"
#include "engines/postgres/schema.h"

static const char usage[] =
    "usage: holdfast sql [-u | --upgrade | -g | --grant]\n"
    "\n"
    "Print the SQL that makes the schema 'holdfast', "
    "where locks are kept in a\n"
    "PostgreSQL database.  The library makes it by "
    "itself when it may; where it\n"
    "may not, somebody who may does this once:\n"
    "\n"
    "    holdfast sql | psql -1 DATABASE\n"
    "\n"
    "With -u, --upgrade, print what takes the schema of "
    "an earlier version to this\n"
    "one.  Programs with an earlier library are "
    "refused from then on.\n"
    "\n"
    "With -g, --grant, print what gives a role the rights "
    "to use it:\n"
    "\n"
    "    holdfast sql --grant |\n"
    "        psql -1 -v role=NAME DATABASE\n"
    "\n"
    "See holdfast-sql(1).\n";

/* Returns the exit status. */
static int print(const char *text)
{
    if (fputs(text, stdout) >= 0 && fflush(stdout) == 0)
        return 0;
    hf_ui_print("standard output cannot be written to; expected room there");
    return HF_EXIT_DIRECTORY;
}

static const struct option long_options[] = {
    {"upgrade", no_argument, NULL, 'u'},
    {"grant", no_argument, NULL, 'g'},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0}};

/* The text that ${option} asks for; NULL if there is no such option. */
static const char *text_of(int option)
{
    switch (option) {
    case 'u':
        return hf_pg_upgrade;
    case 'g':
        return hf_pg_grant;
    case 'h':
        return usage;
    default:
        return NULL;
    }
}

int hf_sql_main(int argc, char **argv)
{
    const char *text = NULL;
    struct hf_error error;
    int option;

    while ((option = getopt_long(argc, argv, ":ugh", long_options, NULL)) !=
           -1) {
        if (text_of(option) == NULL) {
            (void)hf_option_refuse("sql", argv, option, &error);
            hf_ui_print_error(&error);
            return HF_EXIT_USAGE;
        }
        if (text != NULL) {
            hf_ui_print(
                "%.80s: one option at a time; see 'holdfast sql --help'",
                argv[optind - 1]);
            return HF_EXIT_USAGE;
        }
        text = text_of(option);
    }
    if (optind == argc)
        return print(text != NULL ? text : hf_pg_schema);
    hf_ui_print("'%.80s': not expected; see 'holdfast sql --help'",
                argv[optind]);
    return HF_EXIT_USAGE;
}
