-- SPDX-License-Identifier: Apache-2.0

local outcome, more

-- What has run out goes first, whatever is asked for.
remove(redis.call('ZRANGEBYSCORE', untils, '-inf', text(now)), nil)
settle()
outcome, more = operations[ARGV[1]]()
if not outcome then
    return {text(now), 'unsupported'}
end
settle()
return {text(now), 'ok', outcome, more}
