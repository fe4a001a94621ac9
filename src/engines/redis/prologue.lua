-- SPDX-License-Identifier: Apache-2.0
--
-- The rules of src/engines/leased/store.h for the code that runs at the server.
-- The parts in src/engines/redis are put together to one script, which runs for
-- one queue:
--
--     KEYS  the key "last" of the queue.  The script derives the other keys of
--           the queue from it.  A Redis Cluster has to see them, so there they
--           follow, and all are of one hash slot; with layout=redis-py also the
--           key that redis-py SETs
--     ARGV  operation, "redis-py:" before it with layout=redis-py; not_after or
--           ''; ttl; "session", or with a ticket "session id", or with a new
--           ticket "session id kind weight payload"; and what the operation
--           takes besides
--
-- The answer is {now, 'ok', ...}, with 'more' at the end if it shows a part of
-- a queue.  If nothing was done, it is {now, 'late'}, {now, 'unsupported'}, or
-- {now, 'layout', what the key last has}.  The short path (uncontended.lua) has
-- short answers.
-- Numbers that may be large are texts: milliseconds since 1970, and sequences,
-- which are microseconds since 1970 and stay below 2^53 until the year 2255.
--
-- The server takes longer for each word of a call, for each command and for
-- each function, table and text that the script makes than for what is done
-- with them.  So calls have few words, and what only some operations need is
-- made behind the short path.

local call, sub = redis.call, string.sub
local op = ARGV[1]

local time = call('TIME')
local micros = time[1] * 1000000 + time[2]
