-- SPDX-License-Identifier: Apache-2.0
--
-- The queue: how tickets enter it, what a waiter is shown of it, and the
-- operations on one ticket.

-- How many of the nearest tickets a waiter is shown: HF_ADMISSION_NEAREST.
local NEAREST = 3

-- The data of a ticket without its payload.
local function without_payload(data)
    return string.match(data, '^%d+ %d+ %d+ %d+ %x+ ') or data
end

-- Lists the tickets, or the participants and READY if ${kind} is PARTICIPANT.
-- The payload is filled in for the first ticket only; if detailed, for all, or
-- for ${limit} tickets from the sequence ${from} on if ${limit} is not 0.
local function list(detailed, kind, from, limit)
    local order = redis.call('ZRANGE', set_of(kind), 0, -1, 'WITHSCORES')
    local ends = map(redis.call('ZRANGE', expiries, 0, -1, 'WITHSCORES'))
    local all = map(redis.call('HGETALL', tickets))
    local rows = {}
    local other = other_program()
    local shown = 0
    local id, data

    if other and not is_separate(kind) then
        rows[1] = {other, '0', text(CHECK_MS), '1 1 0 0 0 '}
    end
    for i = 1, #order, 2 do
        id = order[i]
        data = all[id]
        if data and ends[id] then
            if detailed and limit > 0 then
                if tonumber(order[i + 1]) >= from and shown < limit then
                    shown = shown + 1
                else
                    data = without_payload(data)
                end
            elseif #rows > 0 and not detailed then
                data = without_payload(data)
            end
            rows[#rows + 1] = {id, order[i + 1], text(ends[id] - now), data}
        end
    end
    return rows
end

-- The row of a ticket, or nil if it is no ticket, because other programs can
-- write to these keys.
local function row(id, sequence)
    local data = redis.call('HGET', tickets, id)
    local ends = data and redis.call('ZSCORE', expiries, id)

    if not ends or not string.match(data, '^[1-5] %d+ %d+ %d+ %x+ ') then
        return nil
    end
    return {id, sequence, text(ends - now), data}
end

-- The first ${limit} tickets of a sorted set from the position ${at} on, in
-- steps of ${by}.
local function walk(set, at, by, limit)
    local rows = {}
    local found

    while at >= 0 and #rows < limit do
        found = redis.call('ZRANGE', set, at, at, 'WITHSCORES')
        if #found == 0 then
            break
        end
        rows[#rows + 1] = row(found[1], found[2])
        at = at + by
    end
    return rows
end

-- The nearest tickets ahead of the one at ${rank}, a ticket of ${kind} with
-- that sequence, that may be in its way.  Only WRITEs are in the way of a READ.
--  A ticket of another kind of lock is in the way only if it is the first of
-- all, which the caller reads.
local function nearest(rank, sequence, kind)
    if kind ~= READ then
        return walk(queue, rank - 1, -1, NEAREST)
    end
    rank = redis.call('ZCOUNT', writers, '-inf', '(' .. sequence)
    return walk(writers, rank - 1, -1, NEAREST)
end

-- What the owner of ${id}, a waiting ticket of ${kind}, is shown: the first
-- ticket, the nearest ones that may be in its way, and the ticket itself, in
-- order; and how many more tickets are ahead of it.  If the ticket is not
-- there, the first ticket.
local function neighbours(id, kind)
    local first = redis.call('ZRANGE', queue, 0, 0, 'WITHSCORES')
    local other = other_program()
    local rank, sequence, own, rows, ahead, more

    if first[1] == id and not other then
        return {row(id, first[2])}, '0'
    end
    rank = redis.call('ZRANK', queue, id)
    sequence = rank and redis.call('ZSCORE', queue, id)
    own = row(id, sequence) -- a user without the right to hashes is refused
    rows = other and {{other, '0', text(CHECK_MS), '1 1 0 0 0 '}} or
        walk(queue, 0, 1, 1)
    if not own or not rank then
        return rows, '0'
    end
    if #rows == 0 or rows[1][1] == id then
        return {own}, '0'
    end
    ahead = nearest(rank, sequence, kind)
    for i = #ahead, 1, -1 do
        if ahead[i][1] ~= rows[1][1] then
            rows[#rows + 1] = ahead[i]
        end
    end
    more = rank + (other and 1 or 0) - #rows
    if kind ~= READ and #ahead < NEAREST then
        more = 0 -- what else is there is no ticket
    end
    rows[#rows + 1] = own
    for i = 2, #rows do
        rows[i][4] = without_payload(rows[i][4])
    end
    return rows, text(more)
end

-- Append the ticket, which expires at ${ends}.  Its number is greater than all
-- before, even if the counter was lost or the clock was set back.
local function append(id, kind, ends)
    local number = math.max(micros, before + 1)

    redis.call('SET', last, text(number))
    redis.call('ZADD', set_of(kind), text(number), id)
    if kind == WRITE then
        redis.call('ZADD', writers, text(number), id)
    end
    redis.call('ZADD', expiries, text(ends), id)
end

-- ARGV: id, kind, weight, payload.  Returns what the ticket has to wait for;
-- for a lease or a participant, the queue.
function operations.enqueue()
    local id = ARGV[6]

    if redis_py_key and ARGV[7] ~= MUTEX then
        return nil
    end
    if redis.call('HEXISTS', tickets, id) == 0 then
        append(id, ARGV[7], now + ttl)
        put(id, {kind = ARGV[7], weight = ARGV[8], revoked = '0',
                 created = text(now), session = session, payload = ARGV[9]})
        prolong_keys()
        pass_redis_py()
        if ARGV[7] == PARTICIPANT then
            prolong_with_tickets(participants)
            notify_watchers()
        elseif ARGV[7] == WRITE then
            prolong_with_tickets(writers)
        end
    end
    if ARGV[7] == LEASE or ARGV[7] == PARTICIPANT then
        return list(false, ARGV[7])
    end
    return neighbours(id, ARGV[7])
end

-- ARGV: watches the queue, detailed ('1' or '0'); kind; the id of the ticket
-- whose neighbours are listed, or '' for the queue; if detailed, from which
-- sequence on payloads are filled in, and for how many tickets, 0: for all
function operations.list()
    if ARGV[6] == '1' then
        watch()
    end
    if ARGV[9] ~= '' then
        return neighbours(ARGV[9], ARGV[8])
    end
    return list(ARGV[7] == '1', ARGV[8], tonumber(ARGV[10]), tonumber(ARGV[11]))
end

-- ARGV: ids.  Returns those that are there.
function operations.exists()
    local rows = {}
    local until_ms, data

    for i = 6, #ARGV do
        if ARGV[i] == other_program() then
            rows[#rows + 1] = {ARGV[i], text(CHECK_MS), MUTEX}
        end
        until_ms = redis.call('ZSCORE', expiries, ARGV[i])
        data = until_ms and ticket(ARGV[i])
        if data then
            rows[#rows + 1] = {ARGV[i], text(until_ms - now), data.kind}
        end
    end
    return rows
end

-- ARGV: id; and, if that is known, who evicts the ticket, in hexadecimal
-- digits. Returns whether it was there.
function operations.remove()
    if not redis.call('ZSCORE', expiries, ARGV[6]) then
        return evict_other_program(ARGV[6])
    end
    remove_tickets({ARGV[6]}, session, ARGV[7])
    return 1
end

-- ARGV: id.  Returns whether it is a read ticket now.
function operations.downgrade()
    local found = ticket(ARGV[6])

    if not found or found.session ~= session then
        return 0
    end
    if found.kind == WRITE then
        notify_waiters(ARGV[6], WRITE, {}, WRITE)
        found.kind = READ
        put(ARGV[6], found)
        redis.call('ZREM', writers, ARGV[6])
    end
    return found.kind == READ and 1 or 0
end

-- ARGV: id.  Requests the release.  Returns whether the ticket is there.
function operations.revoke()
    local found = ticket(ARGV[6])

    if not found then
        return 0
    end
    found.revoked = text(tonumber(found.revoked) + 1)
    put(ARGV[6], found)
    notify(found.session,
           table.concat({'revoked', found.revoked, ARGV[6], name}, ' '))
    return 1
end

-- ARGV: id, payload.  Replaces the payload of a ticket of this session, and
-- notifies nobody.  Returns whether it was done.
function operations.describe()
    local found = ticket(ARGV[6])

    if not found or found.session ~= session then
        return 0
    end
    found.payload = ARGV[7]
    put(ARGV[6], found)
    return 1
end
