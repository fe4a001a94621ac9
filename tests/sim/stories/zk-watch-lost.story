# The word that the holder has left is lost with the connection.  SetWatches on
# the next one, ahead of every other request, brings it again.
world servers=3 timeout=6000 clients=2
  100    a  want mutex one
  200    b  want mutex one
 1000    b  cut in
 1001    a  release m1
 1010    b  break
 1011    b  mend
 2000    b  release m2
 3000    -  end
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
  1000.000  b       link cut in
  1001.000  a       release m1
  1002.501  a       server removes ticket 0000000000 from one
  1003.617  a       m1 RELEASED HF_OK
  1003.617  a       m1 DONE
  1010.000  b       link breaks
  1011.000  b       link mended
  1011.000  b       engine suspended
  1011.000  b       state SUSPENDED
  1015.000  b       engine resumed to s3
  1015.000  b       state CONNECTED
  1017.000  b       m2 GRANTED token=4294967302 safe-until=6942
  2000.000  b       release m2
  2001.259  b       server removes ticket 0000000001 from one
  2002.259  b       m2 RELEASED HF_OK
  2002.259  b       m2 DONE
  3000.000  -       end, tickets left: 0, nodes: 1, watches: 0
