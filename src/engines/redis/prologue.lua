-- SPDX-License-Identifier: Apache-2.0
--
-- The rules of src/engines/leased/store.h for the code that runs at the server.
-- The parts in src/engines/redis are put together to one script, which runs for
-- one queue:
--
--     KEYS  queue, until, tickets, last, watchers, writers, participants, all
--           of one hash slot; with layout=redis-py also the key that redis-py
--           SETs, and the key "holder"; if the operation is about the
--           success of the queue, at the end the key of that
--     ARGV  operation, lock name, not_after or '', ttl, session, and what the
--           operation takes itself
--
-- The answer is {now, 'ok', ...}, with 'more' at the end if it shows a part of
-- a queue.  If nothing was done, it is {now, 'late'}, {now, 'unsupported'}, or
-- {now, 'layout', what the key last has}.
-- Numbers that may be large are texts: milliseconds since 1970, and sequences,
-- which are microseconds since 1970 and stay below 2^53 until the year 2255.

local queue, expiries, tickets = KEYS[1], KEYS[2], KEYS[3]
local last, watchers = KEYS[4], KEYS[5]
-- The WRITE tickets of the queue, by their sequence; and the separate tickets,
-- which are not in the queue.
local writers, participants = KEYS[6], KEYS[7]
-- A key alone behind these is that of the success.
local redis_py_key, holder_key = KEYS[9] and KEYS[8], KEYS[9]
local name = ARGV[2]
local ttl = tonumber(ARGV[4])
local session = ARGV[5]

local time = redis.call('TIME')
local micros = tonumber(time[1]) * 1000000 + tonumber(time[2])
local now = math.floor(micros / 1000)

local MUTEX, READ, WRITE, LEASE = '1', '2', '3', '4'
local PARTICIPANT, READY = '8', '9'

-- The keys of a queue expire this long after its last ticket, if all sessions
-- have ended without removing their tickets.
local ABANDONED_MS = 60000

local function text(number)
    return string.format('%.0f', number)
end

if ARGV[3] ~= '' and now > tonumber(ARGV[3]) then
    return {text(now), 'late'}
end

-- The last number that was given out, read once by each operation that gives
-- one out or receives one.  Its key is never removed, so it says also which
-- layout the keys have.  This layout has a plain number there.  A release with
-- a layout that others cannot share writes something else, and is recognised
-- before anything is changed.
local op = ARGV[1]
local before = 0

if op == 'enqueue' or op == 'set_flag' or op == 'new_generation' or
        op == 'propose' or op == 'commit' or op == 'repair' or
        op == 'quorum_list' or op == 'quorum_renew' then
    before = redis.call('GET', last) or '0'
    if not string.match(before, '^%d+$') then
        return {text(now), 'layout', before}
    end
    before = tonumber(before)
end
