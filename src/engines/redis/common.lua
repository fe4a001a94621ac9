-- SPDX-License-Identifier: Apache-2.0
--
-- What the operations have in common.  The server makes each function again
-- each time that the script runs, and that takes it longer than a command.  So
-- the parts behind this one make the functions that this operation needs, and
-- some only if the operation is not defined yet.

local prefix = sub(KEYS[1], 1, -#'last' - 1)
local last = KEYS[1]
local queue, expiries = prefix .. 'queue', prefix .. 'until'
local tickets, watchers = prefix .. 'tickets', prefix .. 'watchers'
-- The WRITE tickets of the queue, by their sequence; and the separate tickets,
-- which are not in the queue.
local writers, participants = prefix .. 'writers', prefix .. 'participants'
local not_after, ttl_text = string.match(ARGV[2], '^2 (%d+) (%d+)$')
local ttl = tonumber(ttl_text)
local session, own_id = sub(ARGV[3], 1, 32), sub(ARGV[3], 34, 69)

-- The server's clock in microseconds and in milliseconds.
time = time or call('TIME')
local micros = time[1] * 1000000 + time[2]
local now = math.floor(micros / 1000)

local MUTEX, READ, WRITE, LEASE = '1', '2', '3', '4'
local PARTICIPANT, READY = '8', '9'

-- The keys of a queue but the last number and the success expire, at the
-- earliest this long after its last ticket, if all sessions have ended without
-- removing their tickets.
local ABANDONED_MS = 60000

local function text(number)
    return string.format('%.0f', number)
end

-- The name of the lock, which stands in the keys as command.h says.
local name = string.match(prefix, '^holdfast:{(.*)}:')
if string.find(name, '%', 1, true) then
    name = string.gsub(name, '%%(%x%x)', {['25'] = '%', ['7B'] = '{',
                                          ['7D'] = '}'})
end

-- With layout=redis-py: the key of redis-py, and that of its holder.
local redis_py_key, holder_key
if sub(op, 1, 9) == 'redis-py:' then
    op = sub(op, 10)
    redis_py_key, holder_key = name, prefix .. 'holder'
end

if now > tonumber(not_after) then
    return {text(now), 'late'}
end

-- The last number that was given out; and behind "2 " in the same key, the
-- ticket that is alone (uncontended.lua), or ''.  The key is never removed, so
-- it says also which layout the keys have.  A release with another layout
-- writes something else there, and is recognised before anything is changed.
state = state or call('GET', last) or '0'
local before, alone = string.match(state, '^2 (%d+) ?(.*)$')

before = tonumber(before or string.match(state, '^%d+$'))
if not before and (op == 'enqueue' or op == 'participate' or
        op == 'set_flag' or op == 'new_generation' or op == 'propose' or
        op == 'commit' or op == 'repair' or op == 'quorum_list' or
        op == 'quorum_renew') then
    return {text(now), 'layout', state}
end

-- The sorted set that has the tickets of ${kind} by their sequence.  Separate
-- tickets wait for no ticket, and no ticket waits for them; only a list of
-- participants shows them.
local function set_of(kind)
    return (kind == PARTICIPANT or kind == READY) and participants or queue
end

local operations = {}

-- A ticket.  The hash has it as "kind weight revoked created session payload".
local function ticket(id)
    local data = call('HGET', tickets, id)
    local found = {}

    if not data then
        return nil
    end
    found.kind, found.weight, found.revoked, found.created, found.session,
        found.payload = string.match(
            data, '^(%d+) (%d+) (%d+) (%d+) (%x+) (.*)$')
    return found
end

-- The ticket of ${words}: "session id ttl kind weight payload".
local function new_ticket(words, created)
    local new = {revoked = '0', created = text(created),
                 session = sub(words, 1, 32)}
    local its_ttl

    its_ttl, new.kind, new.weight, new.payload =
        string.match(words, '^(%d+) (%d+) (%d+) (.*)$', 71)
    return new, tonumber(its_ttl)
end

-- Write the ticket ${id} to the hash.  Returns the text that the hash has then.
local function put(id, value)
    local data = table.concat({
        value.kind, value.weight, value.revoked, value.created, value.session,
        value.payload}, ' ')

    call('HSET', tickets, id, data)
    return data
end

-- Let the keys expire later than any ticket in them; one that was just added or
-- renewed lives for ${its_ttl}.  A set that only some kinds of tickets use may
-- be younger than the rest; an enqueue prolongs it.
local function prolong_keys(its_ttl)
    local left = call('PTTL', tickets)

    if left >= its_ttl + ABANDONED_MS then
        return
    end
    for _, key in ipairs(left >= 0 and
            {queue, expiries, tickets, writers, participants} or
            {queue, expiries, tickets}) do
        call('PEXPIRE', key, 2 * its_ttl + ABANDONED_MS)
    end
end

-- Move the ticket that is in "last" alone to the other keys.  The first write
-- takes no memory, see operations.renew().
if alone and alone ~= '' then
    local id = sub(alone, 34, 69)
    local created = math.floor(before / 1000)
    local its, its_ttl = new_ticket(alone, created)

    call('DEL', writers)
    call('ZADD', queue, text(before), id)
    call('ZADD', expiries, text(created + its_ttl), id)
    put(id, its)
    prolong_keys(its_ttl)
    if its.kind == WRITE then
        call('ZADD', writers, text(before), id)
        call('PEXPIRE', writers, 2 * its_ttl + ABANDONED_MS)
    end
    call('SET', last, text(before))
    alone = nil
end
