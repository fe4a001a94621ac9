# The session is suspended while a cohort hands its ticket on: docs/architecture.md
# tells it.
world servers=1 timeout=6000 clients=1
   10    a  want shared one
   20    a  want shared one
  100    a  break
  105    a  cut both
  150    a  release c1
  200    a  mend
  700    a  release c2
 1000    -  end
expect
     0.000  a       open
     4.000  a       engine connected to s1
     4.000  a       state CONNECTED
    10.000  a       want c1
    13.000  a       server adds ticket 0 to one
    14.000  a       c1 GRANTED token=4294967300 safe-until=6942
    20.000  a       want c2
   100.000  a       link breaks
   101.000  a       engine suspended
   101.000  a       state SUSPENDED
   105.000  a       link cut both
   150.000  a       release c1
   150.000  a       c1 RELEASED HF_OK
   150.000  a       c1 DONE
   200.000  a       link mended
   203.000  a       engine resumed to s1
   203.000  a       state CONNECTED
   205.000  a       c2 GRANTED token=4294967300 safe-until=6942
   700.000  a       release c2
   701.000  a       server removes ticket 0000000000 from one
   702.000  a       c2 RELEASED HF_OK
   702.000  a       c2 DONE
  1000.000  -       end, tickets left: 0, nodes: 1, watches: 0
