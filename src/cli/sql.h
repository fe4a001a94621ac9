/* SPDX-License-Identifier: Apache-2.0 */
/* holdfast sql */
#ifndef HF_CLI_SQL_H
#define HF_CLI_SQL_H

/* ${argv}[0] is "sql".  Returns the exit status. */
int hf_sql_main(int argc, char **argv);

#endif
