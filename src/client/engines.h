/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which engine serves the scheme of a URL.  Some are built in; the others are
 * modules, which are loaded when a URL needs them.
 */
#ifndef HF_HOST_ENGINES_H
#define HF_HOST_ENGINES_H

#include "client/modules.h"
#include "core/engine.h"
#include "transport/sasl.h"
#include "transport/tls.h"

/* Set ${ops} to the engine for ${scheme}; its module is loaded if it has one,
 * and stays loaded.  HF_EUNSUPPORTED if there is none: ${error} then names the
 * file and the package that are missing. */
hf_status hf_engines_find(const char *scheme, const struct hf_engine_ops **ops,
                          struct hf_error *error);

/* The same with the modules in ${dirs} only; for tests of the loader. */
hf_status hf_engines_load(const struct hf_module_dirs *dirs, const char *scheme,
                          const struct hf_engine_ops **ops,
                          struct hf_error *error);

/* The functions for TLS, from their module; as .tls of struct
 * hf_engine_host. */
hf_status hf_engines_tls(const struct hf_tls_ops **tls, struct hf_error *error);

/* The functions for SASL, from their module; as .sasl of struct
 * hf_engine_host. */
hf_status hf_engines_sasl(const struct hf_sasl_ops **sasl,
                          struct hf_error *error);

#endif
