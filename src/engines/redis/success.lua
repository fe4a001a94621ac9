-- SPDX-License-Identifier: Apache-2.0
--
-- The success of a queue.  Its key has "token milliseconds", the time by the
-- clock of this server.  It does not expire.

if not operations[op] then
    local key = prefix .. 'success'

    -- The token and the time; nil if there is no success.
    local function read()
        return string.match(call('GET', key) or '', '^(%d+) (%d+)$')
    end

    -- Returns the token and the time, or nothing.
    function operations.read_success()
        return {read()}
    end

    -- ARGV: id, token.  Writes the success of a ticket of this session, unless
    -- a later ticket has succeeded.  Returns whether it was done.
    function operations.write_success()
        local found = ticket(ARGV[4])

        if not found or found.session ~= session or
                tonumber(read() or '0') > tonumber(ARGV[5]) then
            return 0
        end
        call('SET', key, ARGV[5] .. ' ' .. text(now))
        return 1
    end
end
