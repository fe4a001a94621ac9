-- SPDX-License-Identifier: Apache-2.0
--
-- The operations on the tickets that a session has in one queue.

if not operations[op] then
    -- ARGV: watch the queue ('1' or '0'), and the ids of the tickets, each
    -- followed by ${step} - 1 other words (nil stands for 1).  Renews the
    -- tickets.  Returns a row {id, number} for each ticket whose owner was
    -- asked to release it so often, and {id, '-1'} for each ticket that is
    -- missing.
    function operations.renew(step)
        local rows = {}
        local found

        -- The first write must be one that takes no memory.  If Redis is out of
        -- memory, it refuses a command that takes memory only if the script has
        -- not written yet.  So after this write the renewal cannot fail for
        -- lack of memory.
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
        -- without ids there is nothing to prolong: flags do not expire
        if #ARGV >= 5 then
            prolong_keys(ttl)
        end
        return rows
    end

    -- ARGV: ids.  Removes these tickets and ends the session's watch of the
    -- queue.  Returns how many tickets were removed.
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
