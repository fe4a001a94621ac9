# Somebody deletes the ticket of a cohort while its client has no connection and
# hands it on.  b is let in.  Once a is connected it looks for the ticket before
# the next one is granted on it, and takes another.
world timeout=30000 clients=2
   10    a  want shared one
   20    a  want shared one
   30    b  want mutex one
  100    a  break
  100.1  a  cut both
  110    a  evict c1
  150    a  release c1
  200    a  mend
  600    b  release m3
  700    a  release c2
 1000    -  end
expect
     0.000  a       open
     0.000  b       open
     2.000  a       engine connected
     2.000  a       state CONNECTED
     2.000  b       engine connected
     2.000  b       state CONNECTED
    10.000  a       want c1
    11.000  a       server adds ticket 1 to one
    12.000  a       c1 GRANTED token=3 safe-until=30700
    20.000  a       want c2
    30.000  b       want m3
    31.000  b       server adds ticket 2 to one
    32.000  b       m3 WAITING ahead=1 holder=a/c1
   100.000  a       link breaks
   100.000  a       engine suspended
   100.000  a       state SUSPENDED
   100.100  a       link cut both
   111.000  b       m3 GRANTED token=4 safe-until=30700
   150.000  a       release c1
   150.000  a       c1 RELEASED HF_OK
   150.000  a       c1 DONE
   200.000  a       link mended
   201.000  a       engine resumed
   201.000  a       state CONNECTED
   204.000  a       server adds ticket 3 to one
   600.000  b       release m3
   601.000  b       server removes ticket 2 from one
   602.000  a       c2 GRANTED token=6 safe-until=30816
   602.000  b       m3 RELEASED HF_OK
   602.000  b       m3 DONE
   700.000  a       release c2
   701.000  a       server removes ticket 3 from one
   702.000  a       c2 RELEASED HF_OK
   702.000  a       c2 DONE
  1000.000  -       end, tickets left: 0
