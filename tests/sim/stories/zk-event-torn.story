# Two leases go in one transaction, and the connection of who waits for both
# breaks between the two events.  The first names the transaction, as servers from
# 3.9 on do; the resume must not say that all of it has been seen.
world servers=3 timeout=6000 clients=2 zxid
  100    a  want permits pool 1/1
  100    a  want permits room 1/1
  500    b  want permits pool 1/1
  500    b  want permits room 1/1
 1000    b  tear
 1001    a  kill
 3000    b  release s3
 3000    b  release s4
 4000    -  end
expect
     0.000  a       open
     0.000  b       open
     5.036  a       engine connected to s1
     5.036  a       state CONNECTED
     5.245  b       engine connected to s1
     5.245  b       state CONNECTED
   100.000  a       want s1
   100.000  a       want s2
   104.808  a       server adds ticket 0 to pool/locks
   104.954  a       server adds ticket 0 to room/locks
   112.884  a       server adds ticket 0 to pool/leases
   113.190  a       server adds ticket 0 to room/leases
   114.209  a       s1 GRANTED token=4294967311 safe-until=6942
   114.679  a       s2 GRANTED token=4294967314 safe-until=6942
   115.813  a       server removes ticket 0000000000 from pool/locks
   116.366  a       server removes ticket 0000000000 from room/locks
   500.000  b       want s3
   500.000  b       want s4
   501.156  b       server adds ticket 1 to pool/locks
   501.508  b       server adds ticket 1 to room/locks
   506.402  b       s3 WAITING ahead=1 holder=a/s1
   506.559  b       s4 WAITING ahead=1 holder=a/s2
  1000.000  b       link breaks behind the next event
  1001.000  a       session killed
  1001.068  a       server removes ticket 0000000000 from room/leases
  1001.068  a       server removes ticket 0000000000 from pool/leases
  1002.108  a       s2 LOST
  1002.108  a       s1 LOST
  1002.108  b       engine suspended
  1002.108  b       state SUSPENDED
  1002.108  a       engine suspended
  1002.108  a       state SUSPENDED
  1006.108  b       engine resumed to s3
  1006.108  b       state CONNECTED
  1006.212  a       engine session lost
  1006.212  a       state LOST
  1009.495  b       server adds ticket 1 to room/leases
  1010.495  b       s4 GRANTED token=4294967320 safe-until=7944
  1010.512  a       engine connected to s3
  1010.512  a       state CONNECTED
  1011.720  b       server adds ticket 1 to pool/leases
  1011.942  b       server removes ticket 0000000001 from room/locks
  1012.720  b       s3 GRANTED token=4294967322 safe-until=7944
  1014.164  b       server removes ticket 0000000001 from pool/locks
  3000.000  b       release s3
  3000.000  b       release s4
  3001.206  b       server removes ticket 0000000001 from pool/leases
  3001.526  b       server removes ticket 0000000001 from room/leases
  3002.206  b       s3 RELEASED HF_OK
  3002.206  b       s3 DONE
  3002.526  b       s4 RELEASED HF_OK
  3002.526  b       s4 DONE
  4000.000  -       end, tickets left: 0, nodes: 6, watches: 0
