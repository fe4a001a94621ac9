-- SPDX-License-Identifier: Apache-2.0
--
-- The operations at one of several servers that agree on an order; see struct
-- hf_store_quorum_args in src/engines/leased/store.h.  If the number of a
-- ticket is only proposed, the score of the ticket is its number less a half.

if not operations[op] then
    local HALF = 0.5

    -- Have all numbers that are given out from now on be greater than
    -- ${number}.
    local function receive_number(number)
        if tonumber(number) > before then
            before = tonumber(number)
            call('SET', last, number)
        end
    end

    -- Replace the score of each row by its number, and append '1' if the number
    -- is only proposed, else '0'.
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

    -- Add the new ticket of the call with ${score}, and notify the watchers: a
    -- list may show the ticket as soon as a few servers have it, committed or
    -- not.
    local function add(score)
        call('ZADD', queue, score, own_id)
        call('ZADD', expiries, text(now + ttl), own_id)
        put(own_id, (new_ticket(ARGV[3], now)))
        prolong_keys(ttl)
        notify_watchers()
    end

    -- Add a new ticket with a proposed number, unless it is there.  Returns the
    -- ticket.
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

    -- Notify the sessions of the tickets between the old score of ${id} and its
    -- new number.  They may have waited for it, and will be ahead of it.
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

    -- Commit ${number} for the ticket ${id}, unless the ticket is missing or
    -- has a greater number.  If ${is_unique}, nothing is committed if another
    -- ticket has the same number committed.  A commit changes the position of
    -- the ticket or its token.
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

    -- ARGV: number.  Adds a ticket that this server lacks, with its committed
    -- number.
    function operations.repair()
        receive_number(ARGV[4])
        if call('HEXISTS', tickets, own_id) == 0 then
            add(ARGV[4])
        end
        return {}
    end

    -- ARGV: watch the queue ('1' or '0'), detailed ('1' or '0'), number.
    -- Returns the queue.
    function operations.quorum_list()
        if ARGV[4] == '1' then
            watch()
        end
        receive_number(ARGV[6])
        return numbered(list(ARGV[5] == '1', nil, 0, 0))
    end

    -- ARGV: watch the queue ('1' or '0'); then ids, each followed by the
    -- committed number of the ticket, or by '0' if there is none yet.  Renews
    -- the tickets and commits the numbers.  Returns what renew() returns.
    function operations.quorum_renew()
        local rows = operations.renew(2)

        for i = 5, #ARGV, 2 do
            if ARGV[i + 1] ~= '0' then
                commit_number(ARGV[i], ARGV[i + 1], false)
            end
        end
        return rows
    end

    -- ARGV: ids.  Returns the rows of exists(), each with how often the owner
    -- was asked to release.
    function operations.quorum_exists()
        local rows = operations.exists()

        for _, row in ipairs(rows) do
            row[4] = ticket(row[1]).revoked
        end
        return rows
    end

    -- ARGV: id, and how often the owner is to have been asked to release.
    -- Returns whether the ticket is there.
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
