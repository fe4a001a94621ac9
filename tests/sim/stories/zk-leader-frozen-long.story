# The leader is stopped until the sessions of all are over by its clock, which
# goes on.  Nothing is committed meanwhile, so nothing is proven, and the holder
# is told LOST before the others elect a leader who gives every session its whole
# time again.
world servers=3 timeout=6000 clients=2
   10    a  only s1
   10    b  only s2
   20    a  break
   20    b  break
 1000    a  want mutex one
 1500    b  want mutex one
 3000    s3 freeze
20000    s3 thaw
25000    a  release m1
26000    b  release m2
30000    -  end
expect
     0.000  a       open
     0.000  b       open
     5.036  a       engine connected to s1
     5.036  a       state CONNECTED
     5.245  b       engine connected to s1
     5.245  b       state CONNECTED
    20.000  a       link breaks
    20.000  b       link breaks
    21.000  a       engine suspended
    21.000  a       state SUSPENDED
    21.000  b       engine suspended
    21.000  b       state SUSPENDED
    27.515  b       engine resumed to s2
    27.515  b       state CONNECTED
    71.308  a       engine resumed to s1
    71.308  a       state CONNECTED
  1000.000  a       want m1
  1004.075  a       server adds ticket 0 to one
  1005.411  a       m1 GRANTED token=4294967301 safe-until=7009
  1500.000  b       want m2
  1501.486  b       server adds ticket 1 to one
  1504.930  b       m2 WAITING ahead=1 holder=a/m1
  3000.000  -       s3 freeze
  5505.000  a       engine suspended
  5505.000  a       state SUSPENDED
  5506.000  b       engine suspended
  5506.000  b       state SUSPENDED
  6009.000  a       m1 LOST
  7502.000  a       engine session lost
  7502.000  a       state LOST
  7504.000  b       engine session lost
  7504.000  b       state LOST
 12000.348  -       s1 hears nothing of its leader
 12000.448  -       s2 hears nothing of its leader
 12251.494  -       s2 leads
 12251.494  -       s1 follows s2
 12683.810  a       engine connected to s1
 12683.810  a       state CONNECTED
 12746.555  b       engine connected to s2
 12746.555  b       state CONNECTED
 12747.822  b       server adds ticket 2 to one
 12750.822  b       m2 WAITING ahead=2 holder=a/m1
 19251.000  b       server session expires
 19251.000  a       server session expires
 19251.474  b       server removes ticket 0000000001 from one
 19251.668  a       server removes ticket 0000000000 from one
 19252.474  b       m2 WAITING ahead=1 holder=a/m1
 19252.668  b       m2 WAITING ahead=0 holder=
 19254.837  b       m2 GRANTED token=8589934595 safe-until=23690
 20000.000  -       s3 thaw
 20000.000  b       server session expires
 20000.000  a       server session expires
 21000.000  -       s3 has too few followers
 21577.046  -       s3 follows s2
 25000.000  a       release m1
 25000.000  a       m1 RELEASED HF_ELOST
 25000.000  a       m1 DONE
 26000.000  b       release m2
 26001.364  b       server removes ticket 0000000002 from one
 26002.364  b       m2 RELEASED HF_OK
 26002.364  b       m2 DONE
 30000.000  -       end, tickets left: 0, nodes: 1, watches: 0
