-- SPDX-License-Identifier: Apache-2.0
--
-- The queue: how a ticket is added, what a waiter is shown, and the operations
-- LIST, EXISTS and REMOVE.

-- The ticket that an enqueue adds.
local new = (op == 'enqueue' or op == 'participate') and
    new_ticket(ARGV[3], now)
local shows_all = new and (new.kind == LEASE or new.kind == PARTICIPANT) or
    op == 'list' and ARGV[7] == '' or op == 'commit' or op == 'quorum_list'
local list, neighbours, watch, without_payload, append

if new or shows_all or op == 'list' then
    -- Returns the data of a ticket without its payload.
    function without_payload(data)
        return string.match(data, '^%d+ %d+ %d+ %d+ %x+ ') or data
    end
end

if ARGV[4] == '1' and (op == 'list' or op == 'renew' or
        op == 'quorum_list' or op == 'quorum_renew') then
    -- Have this session notified when the queue changes.
    function watch()
        if alone then
            call('SET', last, text(before))
        end
        call('ZADD', watchers, text(now + ttl), session)
        call('PEXPIRE', watchers, 2 * ttl + ABANDONED_MS)
    end
end

if shows_all then
    -- Returns a table made of a flat array of keys and values.
    local function map(flat)
        local found = {}

        for i = 1, #flat, 2 do
            found[flat[i]] = flat[i + 1]
        end
        return found
    end

    -- Returns a row for each ticket of the queue, or for participants and READY
    -- if ${kind} is PARTICIPANT.  A list that is not detailed has the payload
    -- of the first ticket only.  A detailed list has all payloads; but if
    -- ${limit} is not 0, those of ${limit} tickets from the sequence ${from}
    -- on.
    function list(detailed, kind, from, limit)
        local set = set_of(kind)
        local order = call('ZRANGE', set, 0, -1, 'WITHSCORES')
        local ends = map(call('ZRANGE', expiries, 0, -1, 'WITHSCORES'))
        local all = map(call('HGETALL', tickets))
        local rows = {}
        local other = redis_py_key and other_program()
        local shown = 0
        local id, data

        if other and set == queue then
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
elseif new or op == 'list' then
    -- How many of the nearest tickets ahead a waiter is shown, the same as
    -- HF_ADMISSION_NEAREST.
    local NEAREST = 3

    -- Returns the row of a ticket, or nil if it is no ticket, because other
    -- programs can write to these keys.
    local function row(id, sequence)
        local data = call('HGET', tickets, id)
        local ends = data and call('ZSCORE', expiries, id)

        if not ends or not string.match(data, '^[1-5] %d+ %d+ %d+ %x+ ') then
            return nil
        end
        return {id, sequence, text(ends - now), data}
    end

    -- Returns up to ${limit} rows of a sorted set: those at the positions
    -- ${at}, ${at} + ${by} and so on.
    local function walk(set, at, by, limit)
        local rows = {}
        local found

        while at >= 0 and #rows < limit do
            found = call('ZRANGE', set, at, at, 'WITHSCORES')
            if #found == 0 then
                break
            end
            rows[#rows + 1] = row(found[1], found[2])
            at = at + by
        end
        return rows
    end

    -- Returns the nearest tickets ahead that a ticket of ${kind} at ${rank},
    -- with that sequence, may wait for.  A READ waits for WRITEs only.  A
    -- ticket of another kind of lock matters only if it is the first in the
    -- queue; the caller reads that one.
    local function nearest(rank, sequence, kind)
        if kind ~= READ then
            return walk(queue, rank - 1, -1, NEAREST)
        end
        rank = call('ZCOUNT', writers, '-inf', '(' .. sequence)
        return walk(writers, rank - 1, -1, NEAREST)
    end

    -- Returns what the owner of ${id}, a waiting ticket of ${kind}, is shown:
    -- the first ticket, the nearest tickets that it may wait for, and the
    -- ticket itself, in the order of the queue; and how many more tickets are
    -- ahead of it.  If the ticket is not there, returns only the first ticket.
    -- ${own} is the row of the ticket if the caller knows it.
    function neighbours(id, kind, own)
        local first = call('ZRANGE', queue, 0, 0, 'WITHSCORES')
        local other = redis_py_key and other_program()
        local rank, sequence, first_row, rows, ahead, more

        if first[1] == id and not other then
            return {row(id, first[2])}, '0'
        end
        rank = call('ZRANK', queue, id)
        sequence = own and own[2] or rank and call('ZSCORE', queue, id)
        -- Read it even if the ticket is not there, because HGET refuses a user
        -- who lacks the right to hashes.
        own = own or row(id, sequence)
        first_row = not other and first[1] and row(first[1], first[2])
        rows = other and {{other, '0', text(CHECK_MS), '1 1 0 0 0 '}} or
            first_row and {first_row} or walk(queue, 0, 1, 1)
        if not own or not rank then
            return rows, '0'
        end
        if #rows == 0 or rows[1][1] == id then
            return {own}, '0'
        end
        -- no ticket is between the first and the second
        ahead = first_row and rank == 1 and {} or nearest(rank, sequence, kind)
        for i = #ahead, 1, -1 do
            if ahead[i][1] ~= rows[1][1] then
                rows[#rows + 1] = ahead[i]
            end
        end
        more = rank + (other and 1 or 0) - #rows
        if kind ~= READ and #ahead < NEAREST then
            more = 0 -- all tickets that could matter are shown
        end
        rows[#rows + 1] = own
        for i = 2, #rows do
            rows[i][4] = without_payload(rows[i][4])
        end
        return rows, text(more)
    end
end

if new or op == 'set_flag' or op == 'new_generation' then
    -- Append a ticket that expires at ${ends}.  Returns its sequence, which is
    -- greater than all sequences before, even if the server has lost its data
    -- or its clock was set back.
    function append(id, kind, ends)
        local number = text(math.max(micros, before + 1))

        call('SET', last, number)
        call('ZADD', set_of(kind), number, id)
        if kind == WRITE then
            call('ZADD', writers, number, id)
        end
        call('ZADD', expiries, text(ends), id)
        return number
    end
end

if new then
    -- Add the ticket, unless it is there.  Returns what its owner is shown: for
    -- a lease or a participant the queue, else neighbours().
    operations[op] = function()
        local kind = new.kind
        local number, own

        if redis_py_key and kind ~= MUTEX then
            return nil
        end
        if call('HEXISTS', tickets, own_id) == 0 then
            number = append(own_id, kind, now + ttl)
            own = {own_id, number, ttl_text, put(own_id, new)}
            prolong_keys(ttl)
            if redis_py_key then
                pass_redis_py()
            end
            -- These two sets may expire before the tickets do, because
            -- prolong_keys() may have been called last when they did not exist.
            -- Without the set of writers, no reader would wait for a WRITE in
            -- the queue.
            if kind == PARTICIPANT then
                call('PEXPIRE', participants, call('PTTL', tickets))
            elseif kind == WRITE then
                call('PEXPIRE', writers, call('PTTL', tickets))
            end
            if notify_watchers then -- otherwise nobody watches
                notify_watchers()
            end
        end
        if list then
            return list(false, kind)
        end
        return neighbours(own_id, kind, own)
    end
end

if op == 'list' then
    -- ARGV: watch the queue ('1' or '0'); detailed ('1' or '0'); kind; id of
    -- the ticket whose neighbours are listed, or '' for the whole queue; for a
    -- detailed list, the first sequence whose payload is filled in, and for how
    -- many tickets (0: all)
    function operations.list()
        if ARGV[4] == '1' then
            watch()
        end
        if neighbours then
            return neighbours(ARGV[7], ARGV[6])
        end
        return list(ARGV[5] == '1', ARGV[6], tonumber(ARGV[8]),
                    tonumber(ARGV[9]))
    end
end

if op == 'exists' or op == 'quorum_exists' then
    -- ARGV: ids.  Returns a row for each ticket that is there.
    function operations.exists()
        local rows = {}
        local until_ms, data

        for i = 4, #ARGV do
            if redis_py_key and ARGV[i] == other_program() then
                rows[#rows + 1] = {ARGV[i], text(CHECK_MS), MUTEX}
            end
            until_ms = call('ZSCORE', expiries, ARGV[i])
            data = until_ms and ticket(ARGV[i])
            if data then
                rows[#rows + 1] = {ARGV[i], text(until_ms - now), data.kind}
            end
        end
        return rows
    end
end

if op == 'remove' then
    -- ARGV: who evicts the ticket, in hexadecimal digits, if that is known.
    -- Removes the ticket of the call.  Returns whether it was there.
    function operations.remove()
        if call('ZSCORE', expiries, own_id) then
            remove_tickets({own_id}, session, ARGV[4])
            return 1
        end
        return redis_py_key and evict_other_program(own_id) or 0
    end
end
