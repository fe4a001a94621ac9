# The leader's questions to an idle client's server are held up, until the leader
# ends the session right behind a create, and then both come through: the create
# is answered in time, and promises nothing, because the leader had not been heard
# of for long.  The second write, which would have made it a grant, is refused.
world servers=3 timeout=10000 clients=1
   10    a  only s1
   20    a  break
 1000    a  want mutex one
 2000    a  release m1
 4500    s1 cut in
13700    a  want mutex one
14000    s1 mend
24000    a  release m2
30000    -  end
expect
     0.000  a       open
     4.755  a       engine connected to s1
     4.755  a       state CONNECTED
    20.000  a       link breaks
    21.000  a       engine suspended
    21.000  a       state SUSPENDED
    71.526  a       engine resumed to s1
    71.526  a       state CONNECTED
  1000.000  a       want m1
  1005.051  a       server adds ticket 0 to one
  1006.174  a       m1 GRANTED token=4294967300 safe-until=10969
  2000.000  a       release m1
  2001.553  a       server removes ticket 0000000000 from one
  2002.794  a       m1 RELEASED HF_OK
  2002.794  a       m1 DONE
  4500.000  -       s1 cut off in
 13700.000  a       want m2
 13701.974  a       server adds ticket 1 to one
 13965.000  a       server session expires
 13965.913  a       server removes ticket 0000000001 from one
 14000.000  -       s1 mend
 14001.000  a       m2 WAITING ahead=0 holder=
 14001.000  a       engine suspended
 14001.000  a       state SUSPENDED
 14038.461  a       engine session lost
 14038.461  a       state LOST
 14047.297  a       engine connected to s1
 14047.297  a       state CONNECTED
 14049.012  a       server adds ticket 2 to one
 14050.496  a       m2 GRANTED token=4294967306 safe-until=24944
 24000.000  a       release m2
 24001.848  a       server removes ticket 0000000002 from one
 24003.150  a       m2 RELEASED HF_OK
 24003.150  a       m2 DONE
 30000.000  -       end, tickets left: 0, nodes: 1, watches: 0
