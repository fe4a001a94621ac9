-- SPDX-License-Identifier: Apache-2.0
--
-- Runs the operation.

local outcome, more

-- Each operation first removes the expired tickets.
remove_tickets(redis.call('ZRANGEBYSCORE', expiries, '-inf', text(now)), nil)
pass_redis_py()
outcome, more = operations[op]()
if not outcome then
    return {text(now), 'unsupported'}
end
pass_redis_py()
return {text(now), 'ok', outcome, more}
