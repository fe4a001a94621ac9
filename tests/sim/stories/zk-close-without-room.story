# Whoever waits for room, and for no ticket, is done as soon as the client is
# closed.  What it asked the server is not taken back from an engine that has
# forgotten all of it already: there is no link to say goodbye on.
world servers=3 timeout=6000 clients=2
  100    a  want permits pool 1/1
  200    b  want permits pool 1/1
 1000    b  cut
 5000    b  close
 5100    a  release s1
10000    -  end
expect
     0.000  a       open
     0.000  b       open
     5.036  a       engine connected to s1
     5.036  a       state CONNECTED
     5.245  b       engine connected to s1
     5.245  b       state CONNECTED
   100.000  a       want s1
   105.252  a       server adds ticket 0 to pool/locks
   113.137  a       server adds ticket 0 to pool/leases
   114.432  a       s1 GRANTED token=4294967306 safe-until=6942
   115.897  a       server removes ticket 0000000000 from pool/locks
   200.000  b       want s2
   201.420  b       server adds ticket 1 to pool/locks
   206.790  b       s2 WAITING ahead=1 holder=a/s1
  1000.000  b       link cut
  4209.000  b       engine suspended
  4209.000  b       state SUSPENDED
  5000.000  b       close
  5000.000  b       s2 ENDED HF_ECLOSED
  5000.000  b       state CLOSED
  5000.000  b       s2 DONE
  5100.000  a       release s1
  5101.622  a       server removes ticket 0000000000 from pool/leases
  5102.986  a       s1 RELEASED HF_OK
  5102.986  a       s1 DONE
 10000.000  -       end, tickets left: 1, nodes: 4, watches: 0
