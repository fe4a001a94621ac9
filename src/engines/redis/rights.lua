-- SPDX-License-Identifier: Apache-2.0
--
-- Finds out which of our commands the user may not run, for a new connection
-- and for "holdfast doctor".  The commands are checked, but not run; of their
-- arguments only the key matters.
--
-- Before 7.0 a script cannot check rights.  There it only tries to publish a
-- message on the channel of the session, because a missing right to publish
-- would show late: at the first release for which somebody waits.  Any other
-- missing right shows at the first ticket.
--
--   ARGV  'rights', and a channel to publish on, or nothing
if ARGV[1] == 'rights' then
    if not redis.acl_check_cmd then
        if ARGV[2] and
                type(redis.pcall('PUBLISH', ARGV[2], '')) ~= 'number' then
            return {1, 1, 'publish', ''}
        end
        return {}
    end

    local key = 'holdfast:{holdfast-doctor}:queue'
    local commands = {
        {'del', key},
        {'exists', key},
        {'get', key},
        {'hdel', key, 'x'},
        {'hexists', key, 'x'},
        {'hget', key, 'x'},
        {'hgetall', key},
        {'hset', key, 'x', 'x'},
        {'pexpire', key, '1'},
        {'pttl', key},
        {'set', key, 'x'},
        {'zadd', key, '1', 'x'},
        {'zcard', key},
        {'zcount', key, '0', '1'},
        {'zrange', key, '0', '1'},
        {'zrangebyscore', key, '0', '1'},
        {'zrank', key, 'x'},
        {'zrem', key, 'x'},
        {'zremrangebyscore', key, '0', '1'},
        {'zscore', key, 'x'},
        -- these have no key
        {'publish', 'holdfast:session:0', 'x'},
        {'time'},
        {'wait', '0', '0'},
        {'scan', '0'},
    }
    -- EXISTS is used with layout=redis-py only, WAIT with wait= only, and SCAN
    -- only by "holdfast ls".
    local optional = {exists = true, wait = true, scan = true}

    local required, allowed, missing, others = 0, 0, {}, {}
    for _, command in ipairs(commands) do
        local name = command[1]
        local there, may = pcall(redis.acl_check_cmd, unpack(command))
        local of = optional[name] and others or missing
        if not there then
            of[#of + 1] = name .. ' (no such command)'
        elseif not may then
            of[#of + 1] = name
        end
        if command[2] == key and not optional[name] then
            required = required + 1
            allowed = allowed + (there and may and 1 or 0)
        end
    end
    return {required, allowed, table.concat(missing, ' '),
            table.concat(others, ' ')}
end
