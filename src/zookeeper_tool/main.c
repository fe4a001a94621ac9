/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The program holdfast-zk.  `holdfast zk` starts it with "zk" as the first
 * argument.  It is a program of its own, so that the tool that holds locks
 * contains no code that can delete a tree.
 */
#include <stdio.h>
#include <string.h>

#include "command/command_line.h"
#include "command/exit_status.h"
#include "command/ui.h"
#include "zookeeper_tool/commands.h"

#define COMMAND_ROW(name, about)                                               \
    {#name, about, &hf_tool_##name##_command, hf_tool_##name##_main},

static const struct {
    const char *name, *about;
    const struct hf_command *command;
    int (*main)(int argc, char **argv);
} commands[] = {HF_TOOL_COMMANDS(COMMAND_ROW)};

#define COMMAND_COUNT (sizeof commands / sizeof *commands)

static void print_usage(FILE *out)
{
    fputs("usage: holdfast zk COMMAND [OPTION...] [ARG...]\n", out);
    for (size_t i = 0; i < COMMAND_COUNT; i++)
        fprintf(out, "       holdfast %s %s\n", commands[i].command->name,
                commands[i].command->synopsis);
}

static int print_help(void)
{
    print_usage(stdout);
    fputs("\nRead and change the nodes of ZooKeeper.  The servers are those of "
          "-c URL or\nHOLDFAST_URL, such as zk://h1,h2/app.\n\n",
          stdout);
    for (size_t i = 0; i < COMMAND_COUNT; i++)
        printf("  %-7s %s\n", commands[i].name, commands[i].about);
    fputs("\nSee 'holdfast zk get --help' and so on, and holdfast-zk(1).\n",
          stdout);
    return hf_command_line_end_output();
}

/* Run the command whose words, those after "zk", are ${argv}. */
static int run(int argc, char **argv)
{
    if (strcmp(argv[0], "--help") == 0 || strcmp(argv[0], "-h") == 0 ||
        strcmp(argv[0], "help") == 0)
        return print_help();
    for (size_t i = 0; i < COMMAND_COUNT; i++)
        if (strcmp(argv[0], commands[i].name) == 0)
            return commands[i].main(argc, argv);
    if (argv[0][0] == '-')
        hf_ui_print("zk %.80s: options stand behind the command; expected, for "
                    "instance, holdfast zk ls %.80s",
                    argv[0], argv[0]);
    else
        hf_ui_print(
            "zk '%.80s': no such command; expected one that 'holdfast zk "
            "--help' lists, for instance: holdfast zk ls /",
            argv[0]);
    return HF_EXIT_USAGE;
}

int main(int argc, char **argv)
{
    if (!hf_ui_open())
        return HF_EXIT_LIMIT;
    if (argc > 2 && strcmp(argv[1], "zk") == 0)
        return run(argc - 2, argv + 2);
    print_usage(stderr);
    return HF_EXIT_USAGE;
}
