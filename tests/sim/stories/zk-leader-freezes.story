# The leader is stopped for a second, its clock goes on.  Nobody notices but he
# who wants to write.
world servers=3 timeout=6000 clients=2
   10    a  only s1
   20    a  break
 1000    a  want mutex one
 3000    s3 freeze
 3100    b  want mutex one
 4000    s3 thaw
 6000    a  release m1
 7000    b  release m2
 9000    -  end
expect
     0.000  a       open
     0.000  b       open
     5.036  a       engine connected to s1
     5.036  a       state CONNECTED
     5.245  b       engine connected to s1
     5.245  b       state CONNECTED
    20.000  a       link breaks
    21.000  a       engine suspended
    21.000  a       state SUSPENDED
    71.659  a       engine resumed to s1
    71.659  a       state CONNECTED
  1000.000  a       want m1
  1004.822  a       server adds ticket 0 to one
  1005.897  a       m1 GRANTED token=4294967301 safe-until=7009
  3000.000  -       s3 freeze
  3100.000  b       want m2
  4000.000  -       s3 thaw
  4000.824  b       server adds ticket 1 to one
  4003.969  b       m2 WAITING ahead=1 holder=a/m1
  6000.000  a       release m1
  6001.808  a       server removes ticket 0000000000 from one
  6003.040  b       m2 GRANTED token=4294967305 safe-until=8942
  6003.040  a       m1 RELEASED HF_OK
  6003.040  a       m1 DONE
  7000.000  b       release m2
  7001.510  b       server removes ticket 0000000001 from one
  7002.904  b       m2 RELEASED HF_OK
  7002.904  b       m2 DONE
  9000.000  -       end, tickets left: 0, nodes: 1, watches: 0
