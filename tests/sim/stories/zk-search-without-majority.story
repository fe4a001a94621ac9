# The answer to the create is lost, and no majority has the ticket yet when it is
# looked for.  A list would not show it: the sync before the list waits until it
# is committed.
world servers=5 timeout=6000 clients=1
   10    a  only s5
   20    a  break
  100    -  node one keep
  199    s2 cut out
  199    s3 cut out
  199    s4 cut out
  200    a  want mutex one
  200.5  a  cut in
  203    a  only s1
  203    a  break
  204    a  mend
 1000    s2 mend
 1000    s3 mend
 1000    s4 mend
 2000    a  release m1
 9000    -  end
expect
     0.000  a       open
     4.911  a       engine connected to s3
     4.911  a       state CONNECTED
    20.000  a       link breaks
    21.000  a       engine suspended
    21.000  a       state SUSPENDED
    27.000  a       engine resumed to s5
    27.000  a       state CONNECTED
   100.000  other   node one keep
   199.000  -       s2 cut off out
   199.000  -       s3 cut off out
   199.000  -       s4 cut off out
   200.000  a       want m1
   200.500  a       link cut in
   203.000  a       link breaks
   204.000  a       link mended
   204.000  a       engine suspended
   204.000  a       state SUSPENDED
   248.652  a       engine resumed to s1
   248.652  a       state CONNECTED
  1000.000  -       s2 mend
  1000.000  -       s3 mend
  1000.000  -       s4 mend
  1000.000  a       server adds ticket 1 to one
  1003.295  a       m1 GRANTED token=4294967300 safe-until=6942
  2000.000  a       release m1
  2001.780  a       server removes ticket 0000000001 from one
  2003.162  a       m1 RELEASED HF_OK
  2003.162  a       m1 DONE
  9000.000  -       end, tickets left: 0, nodes: 2, watches: 0
