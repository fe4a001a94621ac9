# One lock from its acquire to its loss: docs/architecture.md tells it.
world servers=1 timeout=6000 clients=2
  100    a  want mutex one
  200    b  want mutex one
  300    a  release m1
  400    b  kill
 9000    b  release m2
12000    -  end
expect
     0.000  a       open
     0.000  b       open
     4.000  a       engine connected to s1
     4.000  a       state CONNECTED
     4.000  b       engine connected to s1
     4.000  b       state CONNECTED
   100.000  a       want m1
   103.000  a       server adds ticket 0 to one
   104.000  a       m1 GRANTED token=4294967301 safe-until=6942
   200.000  b       want m2
   201.000  b       server adds ticket 1 to one
   204.000  b       m2 WAITING ahead=1 holder=a/m1
   300.000  a       release m1
   301.000  a       server removes ticket 0000000000 from one
   302.000  b       m2 GRANTED token=4294967302 safe-until=6942
   302.000  a       m1 RELEASED HF_OK
   302.000  a       m1 DONE
   400.000  b       session killed
   400.000  b       server removes ticket 0000000001 from one
   401.000  b       m2 LOST
   401.000  b       engine suspended
   401.000  b       state SUSPENDED
   451.000  b       engine session lost
   451.000  b       state LOST
   455.000  b       engine connected to s1
   455.000  b       state CONNECTED
  9000.000  b       release m2
  9000.000  b       m2 RELEASED HF_ELOST
  9000.000  b       m2 DONE
 12000.000  -       end, tickets left: 0, nodes: 1, watches: 0
