-- SPDX-License-Identifier: Apache-2.0
--
-- layout=redis-py: one key, which whoever holds the lock has SET to something of
-- its own (NX, PX).  Ours queue as ever, and the first of them has the key as
-- soon as nobody else does.  Somebody else who has it is shown as a ticket in
-- front of all, called by what the key holds.

-- So often the first in line looks whether a stranger has gone: nobody tells.
local GLANCE = 100

local function stranger()
    local value = plain and redis.call('GET', plain)
    local digits

    if not value or redis.call('ZSCORE', queue, value) then
        return nil
    end
    digits = redis.sha1hex(value)
    return table.concat({
        string.sub(digits, 1, 8), string.sub(digits, 9, 12),
        string.sub(digits, 13, 16), string.sub(digits, 17, 20),
        string.sub(digits, 21, 32)}, '-')
end

-- The one of us that had the key and has it no more is out; the first one takes
-- it if it is free.
local function settle()
    local had = plain and redis.call('GET', having)
    local first

    if not plain then
        return
    end
    if had and redis.call('GET', plain) ~= had then
        redis.call('DEL', having)
        if redis.call('ZSCORE', queue, had) then
            remove({had}, nil)
        end
    end
    first = redis.call('ZRANGE', queue, 0, 0)[1]
    if not first or redis.call('EXISTS', plain) == 1 then
        return
    end
    for _, key in ipairs({plain, having}) do
        redis.call('SET', key, first, 'PX', text(
            redis.call('ZSCORE', untils, first) - now))
    end
end

-- The ticket ${id} lives on for a ttl, and has the key for as long.
local function hold_on(id)
    if plain and redis.call('GET', plain) == id then
        redis.call('PEXPIRE', plain, ttl)
        redis.call('PEXPIRE', having, ttl)
    end
end

-- Take the stranger ${id} out by force.
local function evict(id)
    if stranger() ~= id then
        return 0
    end
    return redis.call('DEL', plain)
end
