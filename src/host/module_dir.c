/* SPDX-License-Identifier: Apache-2.0 */
/* A file of its own because programs that are not installed have another one:
 * they find the modules that were built with them. */
#include "host/modules.h"

#ifndef HF_MODULE_DIR
#error "HF_MODULE_DIR must be set to the directory of modules"
#endif

const char hf_module_directory[] = HF_MODULE_DIR;
