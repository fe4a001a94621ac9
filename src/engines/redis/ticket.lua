-- SPDX-License-Identifier: Apache-2.0
--
-- The operations that change a ticket.

if not operations[op] then
    -- ARGV: id.  Turns a WRITE ticket of this session into a READ.  Returns
    -- whether the ticket is a READ now.
    function operations.downgrade()
        local found = ticket(ARGV[4])

        if not found or found.session ~= session then
            return 0
        end
        if found.kind == WRITE then
            notify_waiters(ARGV[4], WRITE, {}, WRITE)
            found.kind = READ
            put(ARGV[4], found)
            call('ZREM', writers, ARGV[4])
            notify_watchers()
        end
        return found.kind == READ and 1 or 0
    end

    -- ARGV: id.  Asks the owner to release the lock.  Returns whether the
    -- ticket is there.
    function operations.revoke()
        local found = ticket(ARGV[4])

        if not found then
            return 0
        end
        found.revoked = text(tonumber(found.revoked) + 1)
        put(ARGV[4], found)
        notify(found.session,
               table.concat({'revoked', found.revoked, ARGV[4], name}, ' '))
        return 1
    end

    -- ARGV: id, payload.  Replaces the payload of a ticket of this session, and
    -- notifies nobody.  Returns whether it was done.
    function operations.describe()
        local found = ticket(ARGV[4])

        if not found or found.session ~= session then
            return 0
        end
        found.payload = ARGV[5]
        put(ARGV[4], found)
        return 1
    end
end
