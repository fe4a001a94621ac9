# A holder is cut off until its own clock ends its session, before the leader's
# does.  In its new session it waits behind its own old ticket like behind
# anybody's.
world servers=3 timeout=6000 clients=1
  200    a  want mutex one
  300    a  cut
 6310    a  mend
 7000    a  want mutex one
 9500    a  release m1
 9600    a  release m2
12000    -  end
expect
     0.000  a       open
     4.755  a       engine connected to s1
     4.755  a       state CONNECTED
   200.000  a       want m1
   205.273  a       server adds ticket 0 to one
   206.313  a       m1 GRANTED token=4294967300 safe-until=6942
   300.000  a       link cut
  4213.000  a       engine suspended
  4213.000  a       state SUSPENDED
  5942.000  a       m1 LOST
  6211.000  a       engine session lost
  6211.000  a       state LOST
  6310.000  a       link mended
  6313.537  a       engine connected to s1
  6313.537  a       state CONNECTED
  7000.000  a       want m2
  7002.000  a       server adds ticket 1 to one
  7005.303  a       m2 WAITING ahead=1 holder=a/m1
  7965.000  a       server session expires
  7965.258  a       server removes ticket 0000000000 from one
  7966.432  a       m2 GRANTED token=4294967302 safe-until=13251
  9500.000  a       release m1
  9500.000  a       m1 RELEASED HF_ELOST
  9500.000  a       m1 DONE
  9600.000  a       release m2
  9601.891  a       server removes ticket 0000000001 from one
  9603.360  a       m2 RELEASED HF_OK
  9603.360  a       m2 DONE
 12000.000  -       end, tickets left: 0, nodes: 1, watches: 0
