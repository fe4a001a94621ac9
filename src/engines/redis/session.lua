-- SPDX-License-Identifier: Apache-2.0
--
-- What a session has in one queue.

if not operations[ARGV[1]] then
    -- ARGV: look ('1' or '0'), ids, of which every ${step}th word is one, each
    -- if it is nil.  Tickets that are missing have -1.
    function operations.renew(step)
        local rows = {}
        local found

        -- A write that takes no memory comes first: Redis lets a script that
        -- has begun to write go on when it is out of memory, and tickets are
        -- not lost for that.
        redis.call('ZREMRANGEBYSCORE', looks, '-inf', text(now))
        for i = 7, #ARGV, step or 1 do
            found = redis.call('ZSCORE', untils, ARGV[i]) and ticket(ARGV[i])
            if not found then
                rows[#rows + 1] = {ARGV[i], '-1'}
            else
                redis.call('ZADD', untils, 'XX', text(now + ttl), ARGV[i])
                hold_on(ARGV[i])
                if found.revoked ~= '0' then
                    rows[#rows + 1] = {ARGV[i], found.revoked}
                end
            end
        end
        if ARGV[6] == '1' then
            look()
        end
        if #ARGV >= 7 then -- marks stay
            keep()
        end
        return rows
    end

    -- ARGV: ids
    function operations.goodbye()
        local found = {}

        for i = 6, #ARGV do
            if redis.call('ZSCORE', untils, ARGV[i]) then
                found[#found + 1] = ARGV[i]
            end
        end
        remove(found, session)
        redis.call('ZREM', looks, session)
        return #found
    end
end
