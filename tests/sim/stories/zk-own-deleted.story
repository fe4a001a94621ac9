# Somebody deletes the ticket while it is being admitted: behind the create and
# the list, before the watch on it.  The grant is lost as soon as the watch is
# asked for.
world servers=1 timeout=6000 clients=2
  100    -  node one keep
  200    a  want mutex one
  201.5  a  evict m1
  300    b  want mutex one
  400    a  release m1
  500    b  release m2
 1000    -  end
expect
     0.000  a       open
     0.000  b       open
     4.000  a       engine connected to s1
     4.000  a       state CONNECTED
     4.000  b       engine connected to s1
     4.000  b       state CONNECTED
   100.000  other   node one keep
   200.000  a       want m1
   201.000  a       server adds ticket 1 to one
   201.500  a       server removes ticket 0000000001 from one
   202.000  a       m1 GRANTED token=4294967301 safe-until=6942
   209.000  a       m1 LOST
   300.000  b       want m2
   301.000  b       server adds ticket 2 to one
   302.000  b       m2 GRANTED token=4294967303 safe-until=6942
   400.000  a       release m1
   400.000  a       m1 RELEASED HF_ELOST
   400.000  a       m1 DONE
   500.000  b       release m2
   501.000  b       server removes ticket 0000000002 from one
   502.000  b       m2 RELEASED HF_OK
   502.000  b       m2 DONE
  1000.000  -       end, tickets left: 0, nodes: 2, watches: 0
