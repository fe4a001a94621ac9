# The queue's node is removed between two uses: it is made again, in one write
# with the ticket, so that it cannot be removed between the two any more.
world servers=1 timeout=6000 clients=1
  100    a  want mutex one
  110    a  release m1
  200    -  delete one
  300    a  want mutex one
  303.5  -  delete one
  400    a  release m2
 1000    -  end
expect
     0.000  a       open
     4.000  a       engine connected to s1
     4.000  a       state CONNECTED
   100.000  a       want m1
   103.000  a       server adds ticket 0 to one
   104.000  a       m1 GRANTED token=4294967300 safe-until=6942
   110.000  a       release m1
   111.000  a       server removes ticket 0000000000 from one
   112.000  a       m1 RELEASED HF_OK
   112.000  a       m1 DONE
   200.000  other   delete one
   300.000  a       want m2
   303.000  a       server adds ticket 0 to one
   303.500  other   delete one
   304.000  a       m2 GRANTED token=4294967305 safe-until=6942
   400.000  a       release m2
   401.000  a       server removes ticket 0000000000 from one
   402.000  a       m2 RELEASED HF_OK
   402.000  a       m2 DONE
  1000.000  -       end, tickets left: 0, nodes: 1, watches: 0
