-- SPDX-License-Identifier: Apache-2.0
--
-- One of several servers that agree on an order: src/engines/leased/store.h,
-- struct hf_store_quorum_args.  What is only proposed stands half a place before its
-- number.

if not operations[ARGV[1]] then
    local HALF = 0.5

    -- Every number that is given out from now on is greater.
    local function hear(number)
        local before = tonumber(redis.call('GET', last) or '0') or 0

        if tonumber(number) > before then
            redis.call('SET', last, number)
        end
    end

    -- As they are listed: with the number, and '1' if it is only proposed.
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

    -- ARGV: id, kind, weight, payload.  The ticket.
    function operations.propose()
        local id = ARGV[6]
        local number

        if redis.call('HEXISTS', tickets, id) == 0 then
            number = math.max(
                micros, (tonumber(redis.call('GET', last) or '0') or 0) + 1)
            redis.call('SET', last, text(number))
            redis.call('ZADD', queue, string.format('%.1f', number - HALF), id)
            redis.call('ZADD', untils, text(now + ttl), id)
            put(id, {kind = ARGV[7], weight = ARGV[8], revoked = '0',
                     created = text(now), session = session, payload = ARGV[9]})
            keep()
        end
        return numbered({{
            id, redis.call('ZSCORE', queue, id),
            text(redis.call('ZSCORE', untils, id) - now),
            redis.call('HGET', tickets, id)}})
    end

    -- All that it was ahead of, and is not any more, may have waited for it.
    local function tell_passed(id, score, number)
        local other

        for _, passed in ipairs(redis.call('ZRANGEBYSCORE', queue, '(' .. score,
                                           '(' .. number)) do
            other = ticket(passed)
            if other then
                tell(other.session, table.concat({'gone', '0', id, name}, ' '))
            end
        end
    end

    -- The ticket ${id} has ${number}, unless it is not there, has a greater
    -- one, or another, if ${alone}, has just that.
    local function fix(id, number, alone)
        local score = redis.call('ZSCORE', queue, id)

        hear(number)
        if not score or tonumber(score) > tonumber(number) then
            return
        end
        for _, other in ipairs(redis.call('ZRANGEBYSCORE', queue, number,
                                          number)) do
            if alone and other ~= id then
                return
            end
        end
        tell_passed(id, score, number)
        redis.call('ZADD', queue, number, id)
    end

    -- ARGV: id, number
    function operations.settle()
        fix(ARGV[6], ARGV[7], true)
        return numbered(list(false))
    end

    -- ARGV: id, kind, weight, payload, number
    function operations.mend()
        local id = ARGV[6]

        hear(ARGV[10])
        if redis.call('HEXISTS', tickets, id) == 0 then
            redis.call('ZADD', queue, ARGV[10], id)
            redis.call('ZADD', untils, text(now + ttl), id)
            put(id, {kind = ARGV[7], weight = ARGV[8], revoked = '0',
                     created = text(now), session = session, payload = ARGV[9]})
            keep()
        end
        return {}
    end

    -- ARGV: look, whole, number
    function operations.show()
        if ARGV[6] == '1' then
            look()
        end
        hear(ARGV[8])
        return numbered(list(ARGV[7] == '1', nil, 0, 0))
    end

    -- ARGV: look, and ids, each with a number behind it, '0' if there is none
    -- yet.  Tickets that are missing have -1.
    function operations.confirm()
        local rows = operations.renew(2)

        for i = 7, #ARGV, 2 do
            if ARGV[i + 1] ~= '0' then
                fix(ARGV[i], ARGV[i + 1], false)
            end
        end
        return rows
    end

    -- ARGV: ids
    function operations.glimpse()
        local rows = operations.probe()

        for _, row in ipairs(rows) do
            row[4] = ticket(row[1]).revoked
        end
        return rows
    end

    -- ARGV: id, how often its owner has been asked by now
    function operations.ask()
        local found = ticket(ARGV[6])

        if not found then
            return 0
        end
        if tonumber(found.revoked) < tonumber(ARGV[7]) then
            found.revoked = ARGV[7]
            put(ARGV[6], found)
            tell(found.session,
                 table.concat({'revoked', found.revoked, ARGV[6], name}, ' '))
        end
        return 1
    end
end
