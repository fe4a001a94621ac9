-- SPDX-License-Identifier: Apache-2.0
--
-- One of several servers that agree on an order: struct hf_store_quorum_args of
-- src/engines/leased/store.h.  A ticket whose number is only proposed has a
-- score that is a half below its number.

if not operations[op] then
    local HALF = 0.5

    -- Every number that is given out from now on is greater than ${number}.
    local function receive_number(number)
        if tonumber(number) > before then
            before = tonumber(number)
            call('SET', last, number)
        end
    end

    -- Replace the score of each row by the number, and append '1' if the number
    -- is only proposed, or '0'.
    local function numbered(rows)
        local score, number

        for _, row in ipairs(rows) do
            score = tonumber(row[2])
            number = math.ceil(score)
            row[2] = text(number)
            row[5] = number > score and '1' or '0'
        end
        return rows
    end

    -- Add the new ticket with that score.  A list may show it as soon as a few
    -- servers have it, whether its number is committed or not.
    local function add(score)
        call('ZADD', queue, score, own_id)
        call('ZADD', expiries, text(now + ttl), own_id)
        put(own_id, (new_ticket(ARGV[3], now)))
        prolong_keys(ttl)
        notify_watchers()
    end

    -- A new ticket.  Returns it.
    function operations.propose()
        local id = own_id
        local number

        if call('HEXISTS', tickets, id) == 0 then
            number = math.max(micros, before + 1)
            call('SET', last, text(number))
            add(string.format('%.1f', number - HALF))
        end
        return numbered({{
            id, call('ZSCORE', queue, id),
            text(call('ZSCORE', expiries, id) - now),
            call('HGET', tickets, id)}})
    end

    -- Notify the tickets that ${id} was ahead of and will be behind: they may
    -- have waited for it.
    local function notify_passed(id, score, number)
        local other

        for _, passed in ipairs(call('ZRANGEBYSCORE', queue, '(' .. score,
                                     '(' .. number)) do
            other = ticket(passed)
            if other then
                notify(other.session,
                       table.concat({'gone', '0', id, name}, ' '))
            end
        end
    end

    -- Commit the ticket with ${number}, if it is there and has no greater
    -- number.  If ${is_unique}, only if no other ticket is committed with it.
    -- That changes its place in the queue, or its token.
    local function commit_number(id, number, is_unique)
        local score = call('ZSCORE', queue, id)

        receive_number(number)
        if not score or tonumber(score) > tonumber(number) then
            return
        end
        for _, other in ipairs(call('ZRANGEBYSCORE', queue, number,
                                    number)) do
            if is_unique and other ~= id then
                return
            end
        end
        if tonumber(score) == tonumber(number) then
            return
        end
        notify_passed(id, score, number)
        call('ZADD', queue, number, id)
        notify_watchers()
    end

    -- ARGV: id, number.  Returns the queue.
    function operations.commit()
        commit_number(ARGV[4], ARGV[5], true)
        return numbered(list(false))
    end

    -- A new ticket.  ARGV: number
    function operations.repair()
        receive_number(ARGV[4])
        if call('HEXISTS', tickets, own_id) == 0 then
            add(ARGV[4])
        end
        return {}
    end

    -- ARGV: watches the queue, detailed ('1' or '0'), number
    function operations.quorum_list()
        if ARGV[4] == '1' then
            watch()
        end
        receive_number(ARGV[6])
        return numbered(list(ARGV[5] == '1', nil, 0, 0))
    end

    -- ARGV: watches the queue, and ids, each followed by its number, or by '0'
    -- if it has none yet.  Returns what renew does.
    function operations.quorum_renew()
        local rows = operations.renew(2)

        for i = 5, #ARGV, 2 do
            if ARGV[i + 1] ~= '0' then
                commit_number(ARGV[i], ARGV[i + 1], false)
            end
        end
        return rows
    end

    -- ARGV: ids.  Returns what exists does, and how often each owner was asked
    -- to release.
    function operations.quorum_exists()
        local rows = operations.exists()

        for _, row in ipairs(rows) do
            row[4] = ticket(row[1]).revoked
        end
        return rows
    end

    -- ARGV: id, how often the owner will have been asked.  Returns whether the
    -- ticket is there.
    function operations.quorum_revoke()
        local found = ticket(ARGV[4])

        if not found then
            return 0
        end
        if tonumber(found.revoked) < tonumber(ARGV[5]) then
            found.revoked = ARGV[5]
            put(ARGV[4], found)
            notify(found.session,
                   table.concat({'revoked', found.revoked, ARGV[4],
                                 name}, ' '))
        end
        return 1
    end
end
