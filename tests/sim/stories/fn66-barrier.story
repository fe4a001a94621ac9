# A barrier is raised, and whoever waits is woken again and again for nothing: he
# looks, and waits on.  A barrier that is lowered and raised at once lets through
# who waited, and not who came after.  A wait rides out a lost session.
world clients=3
   10  a  raise gate
   20  b  wait gate
   30  -  touch gate
   50  -  touch gate
   60  c  wait gate 0
   70  c  wait gate 30
  120  b  kill
  200  -  touch gate
  300  a  lower gate
  302  -  raise gate
  330  c  wait gate
  340  b  wait gate
  350  b  crash
  400  -  lower gate
  450  -  end
expect
     0.000  a       open
     0.000  b       open
     0.000  c       open
     2.000  a       engine connected
     2.000  a       state CONNECTED
     2.000  b       engine connected
     2.000  b       state CONNECTED
     2.000  c       engine connected
     2.000  c       state CONNECTED
    10.000  a       raise gate
    11.000  -       server raises gate
    12.000  a       raise ANSWERED HF_OK
    20.000  b       wait at gate
    30.000  other   touch gate
    50.000  other   touch gate
    60.000  c       wait at gate
    62.000  c       wait ANSWERED HF_EBUSY
    70.000  c       wait at gate
   100.000  c       wait ANSWERED HF_ETIMEDOUT
   120.000  b       session killed
   121.000  b       engine session lost
   121.000  b       state LOST
   148.000  b       engine connected
   148.000  b       state CONNECTED
   200.000  other   touch gate
   300.000  a       lower gate
   301.000  -       server lowers gate
   302.000  -       server raises gate
   302.000  other   raise gate
   302.000  a       lower ANSWERED HF_OK found
   304.000  b       wait ANSWERED HF_OK
   330.000  c       wait at gate
   340.000  b       wait at gate
   350.000  b       crash
   400.000  -       server lowers gate
   400.000  other   lower gate
   403.000  c       wait ANSWERED HF_OK
   450.000  -       end, tickets left: 0
