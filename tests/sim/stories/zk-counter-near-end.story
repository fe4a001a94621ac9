# Numbers order tickets below 2^31 - 2^20.  The last of them is granted; who gets
# the next is taken back out of the queue and told why.  When all have left the
# node goes with the last ticket, and the count begins anew.
world servers=1 timeout=6000 clients=3
  100    a  want mutex one
  110    a  release m1
  200    -  counter one 2146435071
  210    a  want mutex one
  220    b  want mutex one
  300    a  release m2
  400    c  want mutex one
  500    c  release m4
 1000    -  end
expect
     0.000  a       open
     0.000  b       open
     0.000  c       open
     4.000  a       engine connected to s1
     4.000  a       state CONNECTED
     4.000  b       engine connected to s1
     4.000  b       state CONNECTED
     4.000  c       engine connected to s1
     4.000  c       state CONNECTED
   100.000  a       want m1
   103.000  a       server adds ticket 0 to one
   104.000  a       m1 GRANTED token=4294967302 safe-until=6942
   110.000  a       release m1
   111.000  a       server removes ticket 0000000000 from one
   112.000  a       m1 RELEASED HF_OK
   112.000  a       m1 DONE
   200.000  other   counter one 2146435071
   210.000  a       want m2
   211.000  a       server adds ticket 2146435071 to one
   212.000  a       m2 GRANTED token=4294967304 safe-until=6942
   220.000  b       want m3
   221.000  b       server adds ticket 2146435072 to one
   223.000  b       server removes ticket 2146435072 from one
   224.000  b       m3 ENDED HF_EEXHAUSTED
   224.000  b       m3 DONE
   300.000  a       release m2
   301.000  a       server removes ticket 2146435071 from one
   302.000  a       m2 RELEASED HF_OK
   302.000  a       m2 DONE
   400.000  c       want m4
   403.000  c       server adds ticket 0 to one
   404.000  c       m4 GRANTED token=4294967311 safe-until=6942
   500.000  c       release m4
   501.000  c       server removes ticket 0000000000 from one
   502.000  c       m4 RELEASED HF_OK
   502.000  c       m4 DONE
  1000.000  -       end, tickets left: 0, nodes: 1, watches: 0
