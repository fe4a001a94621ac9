# s1 hears nothing of its leader and does not know yet what the client has seen:
# it refuses the session, which goes on at s2 with its grant.
world servers=3 timeout=6000 clients=1
   50    a  only s2
   60    a  break
  200    s1 cut in
  300    a  want mutex one
  400    a  only s1
  410    a  break
 1500    a  only s2
 3500    a  release m1
 3600    s1 mend
10000    -  end
expect
     0.000  a       open
     4.755  a       engine connected to s1
     4.755  a       state CONNECTED
    60.000  a       link breaks
    61.000  a       engine suspended
    61.000  a       state SUSPENDED
    65.327  a       engine resumed to s2
    65.327  a       state CONNECTED
   200.000  -       s1 cut off in
   300.000  a       want m1
   305.155  a       server adds ticket 0 to one
   306.470  a       m1 GRANTED token=4294967300 safe-until=7003
   410.000  a       link breaks
   411.000  a       engine suspended
   411.000  a       state SUSPENDED
  1617.212  a       engine resumed to s2
  1617.212  a       state CONNECTED
  3500.000  a       release m1
  3501.733  a       server removes ticket 0000000000 from one
  3502.977  a       m1 RELEASED HF_OK
  3502.977  a       m1 DONE
  3600.000  -       s1 mend
 10000.000  -       end, tickets left: 0, nodes: 1, watches: 0
