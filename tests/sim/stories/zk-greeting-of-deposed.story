# The leader is cut off, and the others have elected another, when the holder's
# connection breaks and its session is taken up again by the old one, which has
# not noticed.  That greeting proves nothing: the new leader counts from its own
# beginning.
world servers=3 timeout=20000 clients=2 limit=2
   10    a  only s3
   20    a  break
   10    b  only s1
   20    b  break
 1000    a  want mutex one
 1500    b  want mutex one
 5000    s3 cut
 9500    a  break
40000    s3 mend
41000    a  release m1
42000    b  release m2
50000    -  end
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
    27.000  a       engine resumed to s3
    27.000  a       state CONNECTED
    76.559  b       engine resumed to s1
    76.559  b       state CONNECTED
  1000.000  a       want m1
  1003.755  a       server adds ticket 0 to one
  1004.755  a       m1 GRANTED token=4294967301 safe-until=20825
  1500.000  b       want m2
  1501.644  b       server adds ticket 1 to one
  1505.011  b       m2 WAITING ahead=1 holder=a/m1
  5000.000  -       s3 cut off
  8000.387  -       s1 hears nothing of its leader
  8000.426  -       s2 hears nothing of its leader
  8001.387  b       engine suspended
  8001.387  b       state SUSPENDED
  8373.539  -       s2 leads
  8373.539  -       s1 follows s2
  8579.356  b       engine resumed to s1
  8579.356  b       state CONNECTED
  8581.356  b       m2 WAITING ahead=1 holder=a/m1
  9500.000  a       link breaks
  9501.000  a       engine suspended
  9501.000  a       state SUSPENDED
  9551.000  a       engine resumed to s3
  9551.000  a       state CONNECTED
 10000.000  -       s3 has too few followers
 10001.000  a       engine suspended
 10001.000  a       state SUSPENDED
 19825.000  a       m1 LOST
 29251.000  a       server session expires
 29251.566  a       server removes ticket 0000000000 from one
 29252.783  b       m2 GRANTED token=4294967302 safe-until=44379
 29549.000  a       engine session lost
 29549.000  a       state LOST
 40000.000  -       s3 mend
 40553.726  -       s3 follows s2
 40629.081  a       engine connected to s3
 40629.081  a       state CONNECTED
 41000.000  a       release m1
 41000.000  a       m1 RELEASED HF_ELOST
 41000.000  a       m1 DONE
 42000.000  b       release m2
 42002.067  b       server removes ticket 0000000001 from one
 42003.455  b       m2 RELEASED HF_OK
 42003.455  b       m2 DONE
 50000.000  -       end, tickets left: 0, nodes: 1, watches: 0
