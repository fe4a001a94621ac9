-- SPDX-License-Identifier: Apache-2.0
--
-- The queue: how tickets enter it, what a waiter is shown of it, and the
-- operations on one ticket.

-- The ticket that an enqueue is to add.
local new = (op == 'enqueue' or op == 'participate') and
    new_ticket(ARGV[3], now)
local shows_all = new and (new.kind == LEASE or new.kind == PARTICIPANT) or
    op == 'list' and ARGV[7] == '' or op == 'commit' or op == 'quorum_list'
local list, neighbours, watch, without_payload, append

if new or shows_all or op == 'list' then
    -- The data of a ticket without its payload.
    function without_payload(data)
        return string.match(data, '^%d+ %d+ %d+ %d+ %x+ ') or data
    end
end

if ARGV[4] == '1' and (op == 'list' or op == 'renew' or
        op == 'quorum_list' or op == 'quorum_renew') then
    -- Notify this session when the queue changes.
    function watch()
        if alone then
            call('SET', last, text(before))
        end
        call('ZADD', watchers, text(now + ttl), session)
        call('PEXPIRE', watchers, 2 * ttl + ABANDONED_MS)
    end
end

if shows_all then
    -- A table of a flat array of keys and values.
    local function map(flat)
        local found = {}

        for i = 1, #flat, 2 do
            found[flat[i]] = flat[i + 1]
        end
        return found
    end

    -- Lists the tickets, or the participants and READY if ${kind} is
    -- PARTICIPANT.  The payload is filled in for the first ticket only; if
    -- detailed, for all, or for ${limit} tickets from the sequence ${from} on
    -- if ${limit} is not 0.
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
    -- How many of the nearest tickets a waiter is shown: HF_ADMISSION_NEAREST.
    local NEAREST = 3

    -- The row of a ticket, or nil if it is no ticket, because other programs
    -- can write to these keys.
    local function row(id, sequence)
        local data = call('HGET', tickets, id)
        local ends = data and call('ZSCORE', expiries, id)

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
            found = call('ZRANGE', set, at, at, 'WITHSCORES')
            if #found == 0 then
                break
            end
            rows[#rows + 1] = row(found[1], found[2])
            at = at + by
        end
        return rows
    end

    -- The nearest tickets ahead of the one at ${rank}, a ticket of ${kind} with
    -- that sequence, that may be in its way.  Only WRITEs are in the way of a
    -- READ.  A ticket of another kind of lock is in the way only if it is the
    -- first of all, which the caller reads.
    local function nearest(rank, sequence, kind)
        if kind ~= READ then
            return walk(queue, rank - 1, -1, NEAREST)
        end
        rank = call('ZCOUNT', writers, '-inf', '(' .. sequence)
        return walk(writers, rank - 1, -1, NEAREST)
    end

    -- What the owner of ${id}, a waiting ticket of ${kind}, is shown: the first
    -- ticket, the nearest ones that may be in its way, and the ticket itself,
    -- in order; and how many more tickets are ahead of it.  If the ticket is
    -- not there, the first ticket.  ${own}: the row of the ticket, if that is
    -- known.
    function neighbours(id, kind, own)
        local first = call('ZRANGE', queue, 0, 0, 'WITHSCORES')
        local other = redis_py_key and other_program()
        local rank, sequence, first_row, rows, ahead, more

        if first[1] == id and not other then
            return {row(id, first[2])}, '0'
        end
        rank = call('ZRANK', queue, id)
        sequence = own and own[2] or rank and call('ZSCORE', queue, id)
        -- Also if the ticket is not there: a user without the right to hashes
        -- is refused here.
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
        -- between the first ticket and the second there is none
        ahead = first_row and rank == 1 and {} or nearest(rank, sequence, kind)
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
end

if new or op == 'set_flag' or op == 'new_generation' then
    -- Append the ticket, which expires at ${ends}.  Its number, which is
    -- returned, is greater than all before, even if the counter was lost or the
    -- clock was set back.
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
    -- A new ticket.  Returns what it has to wait for; for a lease or a
    -- participant, the queue.
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
            -- These sets may be younger than the last prolong_keys().  If they
            -- expired before the tickets, a WRITE would be in the queue and not
            -- in writers, and no reader would wait for it.
            if kind == PARTICIPANT then
                call('PEXPIRE', participants, call('PTTL', tickets))
            elseif kind == WRITE then
                call('PEXPIRE', writers, call('PTTL', tickets))
            end
            if notify_watchers then -- else there are none
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
    -- ARGV: watches the queue, detailed ('1' or '0'); kind; the id of the
    -- ticket whose neighbours are listed, or '' for the queue; if detailed,
    -- from which sequence on payloads are filled in, and for how many tickets,
    -- 0: for all
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
    -- ARGV: ids.  Returns those that are there.
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
    -- A ticket.  ARGV: who evicts it, in hexadecimal digits, if that is known.
    -- Returns whether it was there.
    function operations.remove()
        if call('ZSCORE', expiries, own_id) then
            remove_tickets({own_id}, session, ARGV[4])
            return 1
        end
        return redis_py_key and evict_other_program(own_id) or 0
    end
end
