-- SPDX-License-Identifier: Apache-2.0
--
-- What the operations have in common.  Functions are made anew each time that
-- the script runs, which takes the server longer than most of what they do: so
-- those that few operations need are made only where the operation is not
-- among the parts before.

-- Those wait for nobody, and nobody for them; only who asks for them sees them.
local function is_apart(kind)
    return kind == MEMBER or kind == READY
end

-- The sorted set that has tickets of ${kind} by their sequence.
local function line_of(kind)
    return is_apart(kind) and members or queue
end

-- Readers that one step of a walk through a queue looks at.
local STEP = 16

-- When what never runs out does.
local NEVER = 9007199254740991

local operations = {}

-- A ticket as it is kept: "kind weight revoked created session payload".
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
        redis.call('PEXPIRE', key, 2 * ttl + LEFT_ALONE)
    end
end

-- Have the keys live longer than any ticket in them.
local function keep()
    local left = redis.call('PTTL', tickets)

    if left >= ttl + LEFT_ALONE then
        return
    end
    expire(queue, untils, tickets)
    if left >= 0 then -- else these are new, see keep_along()
        expire(writers, members)
    end
end

-- A set that began after the last keep() must not end before the tickets do:
-- a WRITE that is in the queue alone would be in no reader's way.
local function keep_along(key)
    redis.call('PEXPIRE', key, redis.call('PTTL', tickets))
end

local function tell(whom, what)
    redis.call('PUBLISH', 'holdfast:session:' .. whom, what)
end

-- Tell GONE to those who waited for ${id}, a ticket of ${kind}, and stay: of a
-- READ that is the nearest WRITE ahead, of a LEASE nothing, of any other the
-- nearest ticket.  ${was}: what it has stopped to be, '0' if it
-- goes.
local function tell_waiters(id, kind, going, was)
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
                if not going[id_behind] and (
                        (kind == WRITE and other.kind == READ) or
                        (nearest and other.kind ~= READ and
                         other.kind ~= LEASE)) then
                    tell(other.session,
                         table.concat({'gone', was, id, name}, ' '))
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

-- Who of us has the plain key, gives it back; the release of redis-py.
local function give_back(id)
    if plain and redis.call('GET', plain) == id then
        redis.call('DEL', plain, having)
    end
end

-- Tell CHANGED to those who look.
local function tell_lookers()
    for _, whom in ipairs(redis.call('ZRANGEBYSCORE', looks, '(' .. text(now),
                                     '+inf')) do
        tell(whom, 'changed ' .. name)
    end
    redis.call('DEL', looks)
end

-- Take out the tickets ${ids}, and tell whom it concerns; the session ${by}
-- knows of its own.  ${who}: who does it, as their owners are to know it, or nil.
local function remove(ids, by, who)
    local going = {}

    if #ids == 0 then
        return
    end
    for _, id in ipairs(ids) do
        going[id] = ticket(id) or {kind = '0', session = ''}
    end
    for _, id in ipairs(ids) do
        tell_waiters(id, going[id].kind, going, '0')
    end
    for _, id in ipairs(ids) do
        redis.call('ZREM', line_of(going[id].kind), id)
        if going[id].kind == WRITE then
            redis.call('ZREM', writers, id)
        end
        redis.call('ZREM', untils, id)
        redis.call('HDEL', tickets, id)
        give_back(id)
        if going[id].session ~= by then
            tell(going[id].session, table.concat(
                who and {'evicted', who, id, name} or {'gone', '0', id, name},
                ' '))
        end
    end
    tell_lookers()
end

-- Tell this session when a ticket goes.
local function look()
    redis.call('ZADD', looks, text(now + ttl), session)
    redis.call('PEXPIRE', looks, 2 * ttl + LEFT_ALONE)
end

local function map(flat)
    local found = {}

    for i = 1, #flat, 2 do
        found[flat[i]] = flat[i + 1]
    end
    return found
end
