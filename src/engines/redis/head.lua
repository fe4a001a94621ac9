-- SPDX-License-Identifier: Apache-2.0
--
-- The other side of src/engines/leased/store.h: the parts of src/engines/redis
-- are put together to one script, which is run for one queue at a time:
--
--     KEYS  queue, untils, tickets, last, looks, writers, members, all of one
--           hash slot; and with layout=redis-py the key that others SET, and
--           who of us has it
--     ARGV  operation, lock name, not_after or '', ttl, session, and its own
--
-- and answers {now, 'ok', ...}, with 'more' at the end where it shows a part
-- of a queue, or {now, WORD}, having done nothing, where WORD
-- is 'late' or 'unsupported'.  Numbers
-- that may be large are given as text: milliseconds since 1970, and the
-- microseconds that sequences are made of, below 2^53 until the year 2255.

local queue, untils, tickets = KEYS[1], KEYS[2], KEYS[3]
local last, looks = KEYS[4], KEYS[5]
-- The tickets of the queue that are WRITE, by their sequence as well; the
-- tickets that are apart, which are not in the queue.
local writers, members = KEYS[6], KEYS[7]
local plain, having = KEYS[8], KEYS[9]
local name = ARGV[2]
local ttl = tonumber(ARGV[4])
local session = ARGV[5]

local time = redis.call('TIME')
local micros = tonumber(time[1]) * 1000000 + tonumber(time[2])
local now = math.floor(micros / 1000)

local MUTEX, READ, WRITE, LEASE = '1', '2', '3', '4'
local MEMBER, READY = '8', '9'

-- The keys of a queue that everybody has left, without a word, go by
-- themselves so long after the last ticket has run out.
local LEFT_ALONE = 60000

local function text(number)
    return string.format('%.0f', number)
end

if ARGV[3] ~= '' and now > tonumber(ARGV[3]) then
    return {text(now), 'late'}
end
