/* SPDX-License-Identifier: Apache-2.0 */
/* A program of another project: open a client of the URL of its argument, and
 * print why that fails. */
#include <stdio.h>

#include <holdfast/holdfast.h>

int main(int argc, char **argv)
{
    struct hf_client *client;
    struct hf_error error;

    if (argc == 2 && hf_client_open(argv[1], NULL, &client, &error) != HF_OK) {
        printf("%s\n", error.text);
        return 0;
    }
    return 1;
}
