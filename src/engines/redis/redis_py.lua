-- SPDX-License-Identifier: Apache-2.0
--
-- layout=redis-py.  The lock is one key, which its holder has SET to a value of
-- its own (NX, PX).  Our tickets queue as always, and the first ticket takes
-- the key as soon as no other program has it.  While another program has the
-- key, the queue shows a ticket for that program, ahead of all others, whose id
-- is a hash of the value.

-- How often, in milliseconds, the owner of the first ticket checks whether
-- another program has released the key, because other programs send no notices.
local CHECK_MS = 100

local other_program, pass_redis_py, renew_redis_py, evict_other_program

if redis_py_key then
    -- Returns the id of the ticket that stands for the other program which has
    -- the key; nil if no other program has it.
    function other_program()
        local value = call('GET', redis_py_key)
        local digits

        if not value or call('ZSCORE', queue, value) then
            return nil
        end
        digits = redis.sha1hex(value)
        return table.concat({
            string.sub(digits, 1, 8), string.sub(digits, 9, 12),
            string.sub(digits, 13, 16), string.sub(digits, 17, 20),
            string.sub(digits, 21, 32)}, '-')
    end

    -- If our holder has lost the key, its ticket is removed.  If the key is
    -- free, the first ticket takes it.
    function pass_redis_py()
        local holder = call('GET', holder_key)
        local first

        if holder and call('GET', redis_py_key) ~= holder then
            call('DEL', holder_key)
            if call('ZSCORE', queue, holder) then
                remove_tickets({holder}, nil)
            end
        end
        first = call('ZRANGE', queue, 0, 0)[1]
        if not first or call('EXISTS', redis_py_key) == 1 then
            return
        end
        for _, key in ipairs({redis_py_key, holder_key}) do
            call('SET', key, first, 'PX', text(
                call('ZSCORE', expiries, first) - now))
        end
    end

    -- Prolong the key for a ttl, if the renewed ticket ${id} has it.
    function renew_redis_py(id)
        if call('GET', redis_py_key) == id then
            call('PEXPIRE', redis_py_key, ttl)
            call('PEXPIRE', holder_key, ttl)
        end
    end

    -- Delete the key of another program if the ticket that stands for it has
    -- this ${id}.  Returns how many keys were deleted.
    function evict_other_program(id)
        if other_program() ~= id then
            return 0
        end
        return call('DEL', redis_py_key)
    end
end
