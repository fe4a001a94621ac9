# Creates below the node are refused: the want ends with the reason, and when
# they are not, the next one gets its grant.
world servers=1 timeout=6000 clients=1
  100    -  deny one
  110    a  want mutex one
  200    -  allow
  210    a  want mutex one
  300    a  release m2
 1000    -  end
expect
     0.000  a       open
     4.000  a       engine connected to s1
     4.000  a       state CONNECTED
   100.000  other   deny one
   110.000  a       want m1
   114.000  a       m1 ENDED HF_EDENIED
   114.000  a       m1 DONE
   200.000  other   allow
   210.000  a       want m2
   211.000  a       server adds ticket 0 to one
   212.000  a       m2 GRANTED token=4294967301 safe-until=6942
   300.000  a       release m2
   301.000  a       server removes ticket 0000000000 from one
   302.000  a       m2 RELEASED HF_OK
   302.000  a       m2 DONE
  1000.000  -       end, tickets left: 0, nodes: 1, watches: 0
