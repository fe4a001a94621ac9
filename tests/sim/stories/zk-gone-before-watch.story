# The ticket ahead goes between the list that shows it and the watch on it: the
# server knows no such node to watch, which is as good as its end.
world servers=1 timeout=6000 clients=2
  200    a  want mutex one
  300    b  want mutex one
  300.5  a  release m1
  400    b  release m2
 1000    -  end
expect
     0.000  a       open
     0.000  b       open
     4.000  a       engine connected to s1
     4.000  a       state CONNECTED
     4.000  b       engine connected to s1
     4.000  b       state CONNECTED
   200.000  a       want m1
   203.000  a       server adds ticket 0 to one
   204.000  a       m1 GRANTED token=4294967301 safe-until=6942
   300.000  b       want m2
   300.500  a       release m1
   301.000  b       server adds ticket 1 to one
   301.500  a       server removes ticket 0000000000 from one
   302.500  a       m1 RELEASED HF_OK
   302.500  a       m1 DONE
   304.000  b       m2 WAITING ahead=1 holder=
   306.000  b       m2 GRANTED token=4294967302 safe-until=6942
   400.000  b       release m2
   401.000  b       server removes ticket 0000000001 from one
   402.000  b       m2 RELEASED HF_OK
   402.000  b       m2 DONE
  1000.000  -       end, tickets left: 0, nodes: 1, watches: 0
