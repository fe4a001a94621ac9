-- SPDX-License-Identifier: Apache-2.0
--
-- What all operations share.  The server makes each function anew in every run
-- of the script, which takes it longer than a command.  So the files behind
-- this one make only the functions that the operation of this run needs; some
-- of them check first whether the operation is defined already.

local prefix = sub(KEYS[1], 1, -#'last' - 1)
local last = KEYS[1]
local queue, expiries = prefix .. 'queue', prefix .. 'until'
local tickets, watchers = prefix .. 'tickets', prefix .. 'watchers'
-- The sequences of the WRITE tickets in the queue; and the separate tickets (of
-- double barriers), which are not in the queue.
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

-- The keys of a queue expire, except "last" and "success".  They do so this
-- long after the last lease of a ticket at the earliest, so only if all
-- sessions have ended without removing their tickets.
local ABANDONED_MS = 60000

local function text(number)
    return string.format('%.0f', number)
end

-- The name of the lock, decoded from the key (command.h).
local name = string.match(prefix, '^holdfast:{(.*)}:')
if string.find(name, '%', 1, true) then
    name = string.gsub(name, '%%(%x%x)', {['25'] = '%', ['7B'] = '{',
                                          ['7D'] = '}'})
end

-- With layout=redis-py: the key that redis-py SETs, and the key with the ticket
-- of ours that has it.
local redis_py_key, holder_key
if sub(op, 1, 9) == 'redis-py:' then
    op = sub(op, 10)
    redis_py_key, holder_key = name, prefix .. 'holder'
end

if now > tonumber(not_after) then
    return {text(now), 'late'}
end

-- ${before}: the last sequence that was given out.  ${alone}: the only ticket
-- of the queue, if that stands behind the sequence in the key "last"; '' if
-- there is none; nil if the other keys have the tickets (uncontended.lua).  The
-- key is never removed, and its form shows which layout the keys have.  A
-- release with another layout writes another form, which is recognised here
-- before anything is changed.
state = state or call('GET', last) or '0'
local before, alone = string.match(state, '^2 (%d+) ?(.*)$')

before = tonumber(before or string.match(state, '^%d+$'))
if not before and (op == 'enqueue' or op == 'participate' or
        op == 'set_flag' or op == 'new_generation' or op == 'propose' or
        op == 'commit' or op == 'repair' or op == 'quorum_list' or
        op == 'quorum_renew') then
    return {text(now), 'layout', state}
end

-- Returns the sorted set with the tickets of ${kind} by sequence.  Separate
-- tickets are in a set of their own: they wait for no ticket, no ticket waits
-- for them, and only a list of participants shows them.
local function set_of(kind)
    return (kind == PARTICIPANT or kind == READY) and participants or queue
end

local operations = {}

-- Returns the ticket ${id}, or nil.  The hash has it as "kind weight revoked
-- created session payload".
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

-- Returns a ticket made from ${words}, "session id ttl kind weight payload",
-- and its ttl.
local function new_ticket(words, created)
    local new = {revoked = '0', created = text(created),
                 session = sub(words, 1, 32)}
    local its_ttl

    its_ttl, new.kind, new.weight, new.payload =
        string.match(words, '^(%d+) (%d+) (%d+) (.*)$', 71)
    return new, tonumber(its_ttl)
end

-- Write the ticket ${id} to the hash.  Returns the text that was written.
local function put(id, value)
    local data = table.concat({
        value.kind, value.weight, value.revoked, value.created, value.session,
        value.payload}, ' ')

    call('HSET', tickets, id, data)
    return data
end

-- Prolong the keys so that they outlive a ticket that was just added or renewed
-- for ${its_ttl}.  The sets that only some kinds of tickets use may expire
-- earlier than the other keys; an enqueue prolongs them.
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

-- Move the only ticket from the key "last" to the other keys.  The first write
-- is a DEL, because it takes no memory (see operations.renew()).
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
