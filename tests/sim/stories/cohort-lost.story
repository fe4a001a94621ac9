# The session is over: who held hears LOST first of all, who waits goes on at
# the tail, and one who gives up meanwhile does not wait for the others.
world timeout=3000 clients=2
     0      a  want shared one
    10      a  want shared one
    20      a  want shared one
    30      b  want mutex one
    50      a  kill
   100      a  cancel c2
   150      b  release m4
   200      a  release c1
   300      a  release c3
   400      -  end
expect
     0.000  a       open
     0.000  b       open
     0.000  a       want c1
     2.000  a       engine connected
     2.000  a       state CONNECTED
     2.000  b       engine connected
     2.000  b       state CONNECTED
     3.000  a       server adds ticket 1 to one
     4.000  a       c1 GRANTED token=3 safe-until=3970
    10.000  a       want c2
    20.000  a       want c3
    30.000  b       want m4
    31.000  b       server adds ticket 2 to one
    32.000  b       m4 WAITING ahead=1 holder=a/c1
    50.000  a       session killed
    51.000  b       m4 GRANTED token=4 safe-until=3970
    51.000  a       engine session lost
    51.000  a       c1 LOST
    51.000  a       state LOST
    84.000  a       engine connected
    84.000  a       state CONNECTED
    85.000  a       server adds ticket 3 to one
   100.000  a       cancel c2
   100.000  a       c2 ENDED HF_ECANCELLED
   100.000  a       c2 DONE
   150.000  b       release m4
   151.000  b       server removes ticket 2 from one
   152.000  a       c3 GRANTED token=7 safe-until=4052
   152.000  b       m4 RELEASED HF_OK
   152.000  b       m4 DONE
   200.000  a       release c1
   200.000  a       c1 RELEASED HF_ELOST
   200.000  a       c1 DONE
   300.000  a       release c3
   301.000  a       server removes ticket 3 from one
   302.000  a       c3 RELEASED HF_OK
   302.000  a       c3 DONE
   400.000  -       end, tickets left: 0
