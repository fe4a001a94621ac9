/* SPDX-License-Identifier: Apache-2.0 */
/* holdfast --version */
#ifndef HF_CLI_VERSION_H
#define HF_CLI_VERSION_H

/* ${argv}[0] is "--version".  Returns the exit status. */
int hf_version_main(int argc, char **argv);

#endif
