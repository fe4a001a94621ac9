# The word that there is room again is lost with the connection.  SetWatches on
# the next one has the child watch of who waits first in line, and brings it.
world servers=3 timeout=6000 clients=2
  100    a  want permits pool 1/1
  200    b  want permits pool 1/1
 1000    b  cut in
 1001    a  release s1
 1010    b  break
 1011    b  mend
 2000    b  release s2
 3000    -  end
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
  1000.000  b       link cut in
  1001.000  a       release s1
  1002.724  a       server removes ticket 0000000000 from pool/leases
  1003.946  a       s1 RELEASED HF_OK
  1003.946  a       s1 DONE
  1010.000  b       link breaks
  1011.000  b       link mended
  1011.000  b       engine suspended
  1011.000  b       state SUSPENDED
  1015.000  b       engine resumed to s3
  1015.000  b       state CONNECTED
  1020.270  b       server adds ticket 1 to pool/leases
  1021.270  b       s2 GRANTED token=4294967310 safe-until=7953
  1022.590  b       server removes ticket 0000000001 from pool/locks
  2000.000  b       release s2
  2001.548  b       server removes ticket 0000000001 from pool/leases
  2002.548  b       s2 RELEASED HF_OK
  2002.548  b       s2 DONE
  3000.000  -       end, tickets left: 0, nodes: 3, watches: 0
