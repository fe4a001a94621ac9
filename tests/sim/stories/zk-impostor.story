# The create is lost, and before the ticket is looked for somebody else makes a
# node with its very id.  It belongs to another session, so it is nobody to be
# granted as: it is waited for under a new id, until it is removed as whatever
# has an id that was given up.
world servers=3 timeout=6000 clients=1
  200    a  want mutex one
  200.5  a  cut out
  201    a  break
  202    a  impostor m1
  220    a  mend
 2000    a  release m1
 9000    -  end
expect
     0.000  a       open
     4.755  a       engine connected to s1
     4.755  a       state CONNECTED
   200.000  a       want m1
   200.500  a       link cut out
   201.000  a       link breaks
   202.000  a       engine suspended
   202.000  a       state SUSPENDED
   202.000  other   takes the name of m1
   202.349  -       server adds ticket 0 to one
   220.000  a       link mended
   223.420  a       engine resumed to s2
   223.420  a       state CONNECTED
   237.839  a       server adds ticket 1 to one
   241.039  a       m1 WAITING ahead=1 holder=foreign
   244.818  -       server removes ticket 0000000000 from one
   245.874  a       m1 GRANTED token=4294967300 safe-until=7161
  2000.000  a       release m1
  2001.615  a       server removes ticket 0000000001 from one
  2002.937  a       m1 RELEASED HF_OK
  2002.937  a       m1 DONE
  9000.000  -       end, tickets left: 0, nodes: 1, watches: 0
