# The ensemble is replaced by an empty one.  It refuses whoever has seen more
# than it, until the holder's own clock ends the session: LOST at the latest when
# its promise ends, and the waiter begins again at the tail.
world servers=3 timeout=6000 clients=2
  100    a  want mutex one
  200    b  want mutex one
 1000    -  wipe
 7000    a  release m1
 8000    b  release m2
 9000    -  end
expect
     0.000  a       open
     0.000  b       open
     5.036  a       engine connected to s1
     5.036  a       state CONNECTED
     5.245  b       engine connected to s1
     5.245  b       state CONNECTED
   100.000  a       want m1
   104.960  a       server adds ticket 0 to one
   106.146  a       m1 GRANTED token=4294967301 safe-until=6942
   200.000  b       want m2
   201.609  b       server adds ticket 1 to one
   204.821  b       m2 WAITING ahead=1 holder=a/m1
  1000.000  other   wipe
  1000.000  -       s3 leads
  1000.000  -       s1 follows s3
  1000.000  -       s2 follows s3
  1001.000  b       engine suspended
  1001.000  b       state SUSPENDED
  1001.000  a       engine suspended
  1001.000  a       state SUSPENDED
  5942.000  a       m1 LOST
  6111.000  a       engine session lost
  6111.000  a       state LOST
  6204.000  b       engine session lost
  6204.000  b       state LOST
  6536.686  b       engine connected to s1
  6536.686  b       state CONNECTED
  6541.355  b       server adds ticket 0 to one
  6542.770  b       m2 GRANTED token=4294967300 safe-until=13474
  6591.691  a       engine connected to s1
  6591.691  a       state CONNECTED
  7000.000  a       release m1
  7000.000  a       m1 RELEASED HF_ELOST
  7000.000  a       m1 DONE
  8000.000  b       release m2
  8001.610  b       server removes ticket 0000000000 from one
  8003.016  b       m2 RELEASED HF_OK
  8003.016  b       m2 DONE
  9000.000  -       end, tickets left: 0, nodes: 1, watches: 0
