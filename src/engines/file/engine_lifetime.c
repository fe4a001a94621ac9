/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How long the memory of an engine lives.  A handle that is being closed stays
 * in the loop until libuv has closed it.  So an engine that is freed lives
 * until its last handle is closed.
 */
#include "engines/file/engine.h"

#include <assert.h>

#include "base/memory.h"
#include "engines/file/listing.h"

void hf_file_engine_free(struct hf_engine *engine)
{
    hf_file_listing_unref(engine->listing);
    hf_file_root_dir_unref(engine->root_dir);
    hf_file_descriptors_free(&engine->descriptors);
    hf_free(engine->description);
    hf_free(engine);
}

void hf_file_handle_closed(struct hf_engine *engine)
{
    assert(engine->handles > 0);
    if (--engine->handles == 0 && engine->freeing)
        hf_file_engine_free(engine);
}
