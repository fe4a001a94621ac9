/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which engine serves a scheme: those built in, and modules.
 */
#ifndef HF_HOST_ENGINES_H
#define HF_HOST_ENGINES_H

#include "core/engine.h"
#include "host/modules.h"
#include "transport/tls.h"

/* Set ${ops} to the engine for ${scheme}, loading its module if need be.
 * HF_EUNSUPPORTED if there is none, with ${error} naming the file and the
 * package that is missing.  A module stays loaded. */
hf_status hf_engines_find(const char *scheme, const struct hf_engine_ops **ops,
                          struct hf_error *error);

/* The same with modules from ${dirs} only, for tests of the loader. */
hf_status hf_engines_load(const struct hf_module_dirs *dirs, const char *scheme,
                          const struct hf_engine_ops **ops,
                          struct hf_error *error);

/* As hf_engine_host.tls. */
hf_status hf_engines_tls(const struct hf_tls_ops **tls, struct hf_error *error);

#endif
