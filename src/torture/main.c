/* SPDX-License-Identifier: Apache-2.0 */
/*
 * holdfast-torture: the commands torture and verify of holdfast.  holdfast
 * starts this program with the name of the command as the first argument.  It
 * is a separate program, so that the tool that operators use contains no
 * workloads and no checker.
 */
#include <stdio.h>
#include <string.h>

#include "command/exit_status.h"
#include "command/ui.h"
#include "torture/commands.h"

static const char usage[] =
    "usage: holdfast torture [OPTION...] [NAME]\n"
    "       holdfast verify [OPTION...] HISTORY\n"
    "\n"
    "This program is what 'holdfast torture' and 'holdfast verify' start.\n";

int main(int argc, char **argv)
{
    if (!hf_ui_open())
        return HF_EXIT_LIMIT;
    if (argc > 1 && strcmp(argv[1], "torture") == 0)
        return hf_torture_main(argc - 1, argv + 1);
    if (argc > 1 && strcmp(argv[1], "verify") == 0)
        return hf_verify_main(argc - 1, argv + 1);
    fputs(usage, stderr);
    return HF_EXIT_USAGE;
}
