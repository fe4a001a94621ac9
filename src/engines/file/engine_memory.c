/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The memory of an engine lives until libuv has closed the last of its handles,
 * because a handle that is being closed is still in the loop.
 */
#include <assert.h>

#include "core/memory.h"
#include "engines/file/engine.h"

void hf_engine_free_memory(struct hf_engine *engine)
{
    hf_listing_unref(engine->listing);
    hf_root_dir_unref(engine->root_dir);
    hf_descriptors_free(&engine->descriptors);
    hf_free(engine->description);
    hf_free(engine);
}

void hf_engine_handle_closed(struct hf_engine *engine)
{
    assert(engine->handles > 0);
    if (--engine->handles == 0 && engine->freeing)
        hf_engine_free_memory(engine);
}
