# The second of three locks is lost while the third one is waited for:
# docs/architecture.md tells it.
world servers=1 timeout=6000 clients=2
  100    b  want mutex three
  200    a  want all one,two,three
  300    a  evict x2 2
  400    b  release m1
  500    a  release x2
 1000    -  end
expect
     0.000  a       open
     0.000  b       open
     4.000  a       engine connected to s1
     4.000  a       state CONNECTED
     4.000  b       engine connected to s1
     4.000  b       state CONNECTED
   100.000  b       want m1
   103.000  b       server adds ticket 0 to three
   104.000  b       m1 GRANTED token=4294967301 safe-until=6942
   200.000  a       want x2
   203.000  a       server adds ticket 0 to one
   207.000  a       server adds ticket 0 to two
   209.000  a       server adds ticket 1 to three
   212.000  a       x2 WAITING ahead=1 holder=b/m1
   300.000  a       server removes ticket 0000000000 from two
   302.000  a       server removes ticket 0000000001 from three
   302.000  a       server removes ticket 0000000000 from one
   304.000  a       server adds ticket 1 to one
   306.000  a       server adds ticket 1 to two
   308.000  a       server adds ticket 2 to three
   311.000  a       x2 WAITING ahead=1 holder=b/m1
   400.000  b       release m1
   401.000  b       server removes ticket 0000000000 from three
   402.000  a       x2 GRANTED token=4294967314 safe-until=6942
   402.000  b       m1 RELEASED HF_OK
   402.000  b       m1 DONE
   500.000  a       release x2
   501.000  a       server removes ticket 0000000002 from three
   501.000  a       server removes ticket 0000000001 from two
   501.000  a       server removes ticket 0000000001 from one
   502.000  a       x2 RELEASED HF_OK
   502.000  a       x2 DONE
  1000.000  -       end, tickets left: 0, nodes: 3, watches: 0
