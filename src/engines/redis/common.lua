-- SPDX-License-Identifier: Apache-2.0
--
-- What the operations have in common.  The server makes each function again
-- each time that the script runs, and that takes longer than most of what the
-- functions do.  So the parts behind this one make the functions of a few
-- operations only if the operation is not defined yet.

-- Separate tickets wait for no ticket, and no ticket waits for them; only a
-- list of participants shows them.
local function is_separate(kind)
    return kind == PARTICIPANT or kind == READY
end

-- The sorted set that has the tickets of ${kind} by their sequence.
local function set_of(kind)
    return is_separate(kind) and participants or queue
end

-- How many readers one step of a walk through a queue reads.
local STEP = 16

-- The expiry of a ticket that never expires.
local NEVER = 9007199254740991

local operations = {}

-- A ticket.  The hash has it as "kind weight revoked created session payload".
local function ticket(id)
    local data = redis.call('HGET', tickets, id)
    local found = {}

    if not data then
        return nil
    end
    found.kind, found.weight, found.revoked, found.created, found.session,
        found.payload = string.match(
            data, '^(%d+) (%d+) (%d+) (%d+) (%x+) (.*)$')
    return found
end

local function put(id, value)
    redis.call('HSET', tickets, id, table.concat({
        value.kind, value.weight, value.revoked, value.created, value.session,
        value.payload}, ' '))
end

local function expire(...)
    for _, key in ipairs({...}) do
        redis.call('PEXPIRE', key, 2 * ttl + ABANDONED_MS)
    end
end

-- Let the keys expire later than any ticket in them.
local function prolong_keys()
    local left = redis.call('PTTL', tickets)

    if left >= ttl + ABANDONED_MS then
        return
    end
    expire(queue, expiries, tickets)
    if left >= 0 then -- otherwise these are new, see prolong_with_tickets()
        expire(writers, participants)
    end
end

-- Let the key, a set that may be younger than the last prolong_keys(), expire
-- with the tickets.  If it expired before them, a WRITE would be in the queue
-- and not in writers, and no reader would wait for it.
local function prolong_with_tickets(key)
    redis.call('PEXPIRE', key, redis.call('PTTL', tickets))
end

local function notify(session_notified, notice)
    redis.call('PUBLISH', 'holdfast:session:' .. session_notified, notice)
end

-- Notify GONE to the sessions of the tickets that wait for ${id}, a ticket of
-- ${kind}, unless these are ${removed} as well.  A READ waits for the nearest
-- WRITE ahead, a LEASE for no ticket, any other ticket for the one ahead.
-- ${as_kind}: WRITE if the ticket stays and is no WRITE any more, or '0'.
local function notify_waiters(id, kind, removed, as_kind)
    local sequence = redis.call('ZSCORE', queue, id)
    local step = kind == WRITE and STEP or 1
    local at = 0
    local nearest = true
    local behind, other

    if not sequence then
        return
    end
    repeat
        behind = redis.call('ZRANGEBYSCORE', queue, '(' .. sequence, '+inf',
                            'LIMIT', at, step)
        for _, id_behind in ipairs(behind) do
            other = ticket(id_behind)
            if other then
                if not removed[id_behind] and (
                        (kind == WRITE and other.kind == READ) or
                        (nearest and other.kind ~= READ and
                         other.kind ~= LEASE)) then
                    notify(other.session,
                           table.concat({'gone', as_kind, id, name}, ' '))
                end
                if kind ~= WRITE or other.kind == WRITE then
                    return
                end
                nearest = false
            end
        end
        at = at + step
    until #behind < step
end

-- If the ticket has the key of redis-py, delete the key.  redis-py releases so.
local function release_redis_py(id)
    if redis_py_key and redis.call('GET', redis_py_key) == id then
        redis.call('DEL', redis_py_key, holder_key)
    end
end

-- Notify CHANGED to the sessions that watch the queue.
local function notify_watchers()
    for _, watcher in ipairs(redis.call('ZRANGEBYSCORE', watchers,
                                        '(' .. text(now), '+inf')) do
        notify(watcher, 'changed ' .. name)
    end
    redis.call('DEL', watchers)
end

-- Remove the tickets ${ids} and notify the sessions that have to know it,
-- except for the session ${by} as an owner.  ${evicted_by}: who removes them,
-- for their owners, or nil.
local function remove_tickets(ids, by, evicted_by)
    local removed = {}

    if #ids == 0 then
        return
    end
    for _, id in ipairs(ids) do
        removed[id] = ticket(id) or {kind = '0', session = ''}
    end
    for _, id in ipairs(ids) do
        notify_waiters(id, removed[id].kind, removed, '0')
    end
    for _, id in ipairs(ids) do
        redis.call('ZREM', set_of(removed[id].kind), id)
        if removed[id].kind == WRITE then
            redis.call('ZREM', writers, id)
        end
        redis.call('ZREM', expiries, id)
        redis.call('HDEL', tickets, id)
        release_redis_py(id)
        if removed[id].session ~= by then
            notify(removed[id].session, table.concat(
                evicted_by and {'evicted', evicted_by, id, name} or
                {'gone', '0', id, name}, ' '))
        end
    end
    notify_watchers()
end

-- Notify this session when a ticket goes.
local function watch()
    redis.call('ZADD', watchers, text(now + ttl), session)
    redis.call('PEXPIRE', watchers, 2 * ttl + ABANDONED_MS)
end

-- A table of a flat array of keys and values.
local function map(flat)
    local found = {}

    for i = 1, #flat, 2 do
        found[flat[i]] = flat[i + 1]
    end
    return found
end
