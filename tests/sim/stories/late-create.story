# The create hangs on the way when the link breaks, and takes effect after the
# search that did not find it: it must not stay in front of the second one.
world clients=1 timeout=2000 late=1000000
   10    a  want mutex one
   10.5  a  cut out
   11    a  break
   12    a  mend
 3000    a  release m1
 8000    -  end
expect
     0.000  a       open
     2.000  a       engine connected
     2.000  a       state CONNECTED
    10.000  a       want m1
    10.500  a       link cut out
    11.000  a       link breaks
    11.000  a       engine suspended
    11.000  a       state SUSPENDED
    12.000  a       link mended
    50.000  a       engine resumed
    50.000  a       state CONNECTED
    61.000  a       server adds ticket 1 to one
    62.000  a       m1 GRANTED token=2 safe-until=3028
   791.933  a       server adds ticket 2 to one
  2053.000  a       server removes ticket 2 from one
  3000.000  a       release m1
  3001.000  a       server removes ticket 1 from one
  3002.000  a       m1 RELEASED HF_OK
  3002.000  a       m1 DONE
  8000.000  -       end, tickets left: 0
