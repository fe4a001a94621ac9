# The same on ZooKeeper, where the event of the deletion comes behind the
# connection: c2 is not granted before it.
world servers=1 timeout=30000 clients=2
   10    a  want shared one
   20    a  want shared one
   30    b  want mutex one
  100    a  break
  105    a  cut both
  110    a  evict c1
  150    a  release c1
  200    a  mend
  600    b  release m3
  700    a  release c2
 1000    -  end
expect
     0.000  a       open
     0.000  b       open
     4.000  a       engine connected to s1
     4.000  a       state CONNECTED
     4.000  b       engine connected to s1
     4.000  b       state CONNECTED
    10.000  a       want c1
    13.000  a       server adds ticket 0 to one
    14.000  a       c1 GRANTED token=4294967301 safe-until=30702
    20.000  a       want c2
    30.000  b       want m3
    31.000  b       server adds ticket 1 to one
    34.000  b       m3 WAITING ahead=1 holder=a/c1
   100.000  a       link breaks
   101.000  a       engine suspended
   101.000  a       state SUSPENDED
   105.000  a       link cut both
   110.000  a       server removes ticket 0000000000 from one
   111.000  b       m3 GRANTED token=4294967302 safe-until=30702
   150.000  a       release c1
   150.000  a       c1 RELEASED HF_OK
   150.000  a       c1 DONE
   200.000  a       link mended
   203.000  a       engine resumed to s1
   203.000  a       state CONNECTED
   206.000  a       server adds ticket 2 to one
   600.000  b       release m3
   601.000  b       server removes ticket 0000000001 from one
   602.000  a       c2 GRANTED token=4294967304 safe-until=30901
   602.000  b       m3 RELEASED HF_OK
   602.000  b       m3 DONE
   700.000  a       release c2
   701.000  a       server removes ticket 0000000002 from one
   702.000  a       c2 RELEASED HF_OK
   702.000  a       c2 DONE
  1000.000  -       end, tickets left: 0, nodes: 1, watches: 0
