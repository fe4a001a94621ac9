/* SPDX-License-Identifier: Apache-2.0 */
/* The command line tool: finds the command in its table and runs it.  Some
 * commands are in programs of their own. */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <holdfast/holdfast.h>

#include "base/memory.h"
#include "cli/commands.h"
#include "command/command_line.h"
#include "command/exit_status.h"
#include "command/program_path.h"
#include "command/ui.h"
#include "monitor/log_default.h"

static const char usage[] =
    "usage: holdfast run [OPTION...] NAME... -- COMMAND [ARG...]\n"
    "       holdfast elect [OPTION...] NAME -- COMMAND [ARG...]\n"
    "       holdfast hold [OPTION...] NAME...\n"
    "       holdfast show [OPTION...] NAME\n"
    "       holdfast metrics [OPTION...] [NAME...] | --dir DIR\n"
    "       holdfast ls [OPTION...] [PREFIX]\n"
    "       holdfast last [OPTION...] NAME\n"
    "       holdfast leading [OPTION...] NAME\n"
    "       holdfast doctor [OPTION...] [--probe [NAME]]\n"
    "       holdfast revoke [OPTION...] NAME [TICKET...]\n"
    "       holdfast evict [OPTION...] NAME TICKET\n"
    "       holdfast explain [OPTION...] NAME | --all [PREFIX]\n"
    "       holdfast sql [OPTION]\n"
    "       holdfast torture [OPTION...] [NAME]\n"
    "       holdfast verify [OPTION...] HISTORY\n"
    "       holdfast zk COMMAND [OPTION...] [ARG...]\n"
    "       holdfast help [COMMAND]\n"
    "       holdfast -V | --version [-v]\n"
    "\n"
    "  run      run a command while holding a lock\n"
    "  elect    run a command on one machine of several, the leader\n"
    "  hold     hold a lock without a command\n"
    "  show     show who holds a lock, and who waits for it\n"
    "  metrics  print numbers of locks as OpenMetrics text\n"
    "  ls       list the locks that somebody holds or waits for\n"
    "  last     print when a job has last succeeded\n"
    "  leading  say who leads, and whether this machine does\n"
    "  doctor   examine an engine: what is wrong, and what to do\n"
    "  revoke   ask the holder of a lock to release it\n"
    "  evict    remove a ticket from a queue by force\n"
    "  explain  say what those who wait for a lock hold, and find deadlocks\n"
    "  sql      print what makes a PostgreSQL database ready for locks\n"
    "  torture  let processes contend for a lock and check what happens\n"
    "  verify   check what the clients of a lock did and observed\n"
    "  zk       read and change the nodes of ZooKeeper\n"
    "\n"
    "See 'holdfast help run' and so on, holdfast(1) and holdfast-run(1) and so "
    "on,\nand holdfast-url(7) for URLs.\n";

static int help(int argc, char **argv);

static int print_usage(int argc, char **argv)
{
    (void)argc;
    (void)argv;
    fputs(usage, stdout);
    return hf_command_line_end_output();
}

/* A command is a function here, or in another program. */
static const struct {
    const char *name;
    int (*main)(int argc, char **argv);
    const struct hf_program *program;
} commands[] = {
    {"run", hf_run_main, NULL},
    {"elect", hf_elect_main, NULL},
    {"hold", hf_hold_main, NULL},
    {"show", hf_show_main, NULL},
    {"metrics", hf_metrics_main, NULL},
    {"ls", hf_ls_main, NULL},
    {"last", hf_last_main, NULL},
    {"leading", hf_leading_main, NULL},
    {"doctor", hf_doctor_main, NULL},
    {"revoke", hf_revoke_main, NULL},
    {"evict", hf_evict_main, NULL},
    {"explain", hf_explain_main, NULL},
    {"sql", hf_sql_main, NULL},
    {"torture", NULL, &hf_program_torture},
    {"verify", NULL, &hf_program_torture},
    {"zk", NULL, &hf_program_zk},
    {"help", help, NULL},
    {"--version", hf_version_main, NULL},
    {"-V", hf_version_main, NULL},
    {"--help", print_usage, NULL},
    {"-h", print_usage, NULL},
};

/* Become ${program} with the words of ${argv}, of which the first is the
 * command.  If that is impossible, print why and return HF_EXIT_NOT_FOUND,
 * HF_EXIT_NOT_RUN or HF_EXIT_LIMIT. */
static int become_program(const struct hf_program *program, int argc,
                          char **argv)
{
    char **words = hf_alloc(((size_t)argc + 2) * sizeof *words);
    char *name = hf_strdup(program->name), path[PATH_MAX];
    int exit_code = HF_EXIT_NOT_FOUND;

    if (words == NULL || name == NULL) {
        hf_ui_print("no memory is left to start %s", program->name);
        exit_code = HF_EXIT_LIMIT;
    } else if (!hf_program_find(program, path)) {
        hf_ui_print("%s: there is no program %s, which does it; expected it "
                    "beside this one or in %s; install all programs of the "
                    "package, or build all of them",
                    argv[0], program->name, program->configured_dir);
    } else {
        words[0] = name;
        memcpy(words + 1, argv, ((size_t)argc + 1) * sizeof *words);
        execv(path, words);
        hf_ui_print("%s cannot be run: %s; expected the program of this "
                    "package",
                    path, strerror(errno));
        exit_code = HF_EXIT_NOT_RUN;
    }
    hf_free(words);
    hf_free(name);
    return exit_code;
}

/* Run the command number ${i}. */
static int run_command(size_t i, int argc, char **argv)
{
    if (commands[i].program != NULL)
        return become_program(commands[i].program, argc, argv);
    return commands[i].main(argc, argv);
}

/* Print that ${word} is no command, and all that are.  In the table the
 * commands stand before the options. */
static void print_no_such_command(const char *word)
{
    char names[256] = "";
    size_t used = 0;

    for (size_t i = 0; commands[i].name[0] != '-'; i++)
        used += (size_t)snprintf(names + used, sizeof names - used, "%s, ",
                                 commands[i].name);
    assert(used < sizeof names);
    hf_ui_print("'%.80s': no such command; expected %s--version or --help, for "
                "instance: holdfast run NAME -- COMMAND",
                word, names);
}

/* Run the command that is called ${argv}[0]. */
static int run_named(int argc, char **argv)
{
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        if (strcmp(argv[0], commands[i].name) == 0)
            return run_command(i, argc, argv);
    print_no_such_command(argv[0]);
    return HF_EXIT_USAGE;
}

/* "help run" is "run --help", and "help zk get" is "zk get --help". */
static int help(int argc, char **argv)
{
    static char option[] = "--help";

    if (argc == 1 || argv[1][0] == '-' || strcmp(argv[1], argv[0]) == 0)
        return print_usage(argc, argv);
    /* What the word "help" took is room for the option. */
    memmove(argv, argv + 1, (size_t)(argc - 1) * sizeof *argv);
    argv[argc - 1] = option;
    return run_named(argc, argv);
}

int main(int argc, char **argv)
{
    if (!hf_ui_open())
        return HF_EXIT_LIMIT;
    if (argc < 2) {
        if (hf_log_is_json())
            hf_ui_print("a command is missing; see 'holdfast --help'");
        else
            fputs(usage, stderr);
        return HF_EXIT_USAGE;
    }
    return run_named(argc - 1, argv + 1);
}
