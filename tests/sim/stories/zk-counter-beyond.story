# The counter stands at its end, where the server numbers every ticket alike, and
# then is below zero.  None of them is admitted: all are taken back.
world servers=1 timeout=6000 clients=3
   50    -  node one keep
  100    a  want mutex one
  110    a  release m1
  200    -  counter one 2147483647
  210    a  want mutex one
  210    b  want mutex one
  300    -  counter one -5
  310    a  want mutex one
  400    -  delete one keep
  410    c  want mutex one
  500    c  want mutex one
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
    50.000  other   node one keep
   100.000  a       want m1
   101.000  a       server adds ticket 1 to one
   102.000  a       m1 GRANTED token=4294967302 safe-until=6942
   110.000  a       release m1
   111.000  a       server removes ticket 0000000001 from one
   112.000  a       m1 RELEASED HF_OK
   112.000  a       m1 DONE
   200.000  other   counter one 2147483647
   210.000  a       want m2
   210.000  b       want m3
   211.000  a       server adds ticket 2147483647 to one
   211.000  b       server adds ticket 2147483647 to one
   213.000  a       server removes ticket 2147483647 from one
   213.000  b       server removes ticket 2147483647 from one
   214.000  a       m2 ENDED HF_EEXHAUSTED
   214.000  a       m2 DONE
   214.000  b       m3 ENDED HF_EEXHAUSTED
   214.000  b       m3 DONE
   300.000  other   counter one -5
   310.000  a       want m4
   311.000  a       server adds ticket -5 to one
   313.000  a       server removes ticket -000000005 from one
   314.000  a       m4 ENDED HF_EEXHAUSTED
   314.000  a       m4 DONE
   400.000  other   delete one keep
   410.000  c       want m5
   411.000  c       server adds ticket -4 to one
   413.000  c       server removes ticket -000000004 from one
   414.000  c       m5 ENDED HF_EEXHAUSTED
   414.000  c       m5 DONE
   500.000  c       want m6
   501.000  c       server adds ticket -3 to one
   503.000  c       server removes ticket -000000003 from one
   504.000  c       m6 ENDED HF_EEXHAUSTED
   504.000  c       m6 DONE
  1000.000  -       end, tickets left: 0, nodes: 1, watches: 0
