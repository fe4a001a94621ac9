/* SPDX-License-Identifier: Apache-2.0 */
/* A program of another project: open a client of the URL of its argument, and
 * print why that fails. */
#include <stdio.h>

#include <holdfast/holdfast.h>

int main(int argc, char **argv)
{
    struct hf_client *client;

    if (argc == 2 && hf_client_open(argv[1], NULL, &client) != HF_OK) {
        printf("%s\n", hf_last_error()->text);
        return 0;
    }
    return 1;
}
