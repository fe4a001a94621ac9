-- SPDX-License-Identifier: Apache-2.0
--
-- The operations on all tickets of a session in one queue.

if not operations[op] then
    -- ARGV: watches the queue ('1' or '0'), and the ids of the tickets.  Each
    -- id is followed by ${step} - 1 other words; nil is 1.  The answer has the
    -- tickets whose release was requested, and with -1 those that are missing.
    function operations.renew(step)
        local rows = {}
        local found

        -- The first write must be one that takes no memory.  If Redis is out of
        -- memory, it refuses the first write of a script, but not the later
        -- ones.  So no ticket is lost because of that.
        call('ZREMRANGEBYSCORE', watchers, '-inf', text(now))
        for i = 5, #ARGV, step or 1 do
            found = call('ZSCORE', expiries, ARGV[i]) and ticket(ARGV[i])
            if not found then
                rows[#rows + 1] = {ARGV[i], '-1'}
            else
                call('ZADD', expiries, 'XX', text(now + ttl), ARGV[i])
                if redis_py_key then
                    renew_redis_py(ARGV[i])
                end
                if found.revoked ~= '0' then
                    rows[#rows + 1] = {ARGV[i], found.revoked}
                end
            end
        end
        if ARGV[4] == '1' then
            watch()
        end
        if #ARGV >= 5 then -- flags stay
            prolong_keys(ttl)
        end
        return rows
    end

    -- ARGV: ids.  Returns how many tickets were removed.
    function operations.close_session()
        local found = {}

        for i = 4, #ARGV do
            if call('ZSCORE', expiries, ARGV[i]) then
                found[#found + 1] = ARGV[i]
            end
        end
        remove_tickets(found, session)
        call('ZREM', watchers, session)
        return #found
    end
end
