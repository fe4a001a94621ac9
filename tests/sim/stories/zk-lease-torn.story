# Somebody deletes one of the two nodes of a lease, and not the other: its owner
# hears that it is lost and takes the rest away itself, long before the release.
# Whoever waits for both permits gets them then.
world servers=1 timeout=6000 clients=2
  100    -  node one/leases keep
  200    a  want permits one 2/2
  300    b  want permits one 2/2
  400    a  evict s1
 1000    a  release s1
 1100    b  release s2
 1500    -  end
expect
     0.000  a       open
     0.000  b       open
     4.000  a       engine connected to s1
     4.000  a       state CONNECTED
     4.000  b       engine connected to s1
     4.000  b       state CONNECTED
   100.000  other   node one/leases keep
   200.000  a       want s1
   203.000  a       server adds ticket 0 to one/locks
   207.000  a       server adds ticket 1 to one/leases
   208.000  a       s1 GRANTED token=4294967306 safe-until=6942
   209.000  a       server removes ticket 0000000000 from one/locks
   300.000  b       want s2
   301.000  b       server adds ticket 1 to one/locks
   306.000  b       s2 WAITING ahead=1 holder=a/s1
   400.000  a       server removes ticket 0000000002 from one/leases
   401.000  a       s1 LOST
   403.000  b       s2 WAITING ahead=1 holder=a/s1
   404.000  a       server removes ticket 0000000001 from one/leases
   408.000  b       server adds ticket 3 to one/leases
   409.000  b       s2 GRANTED token=4294967311 safe-until=6942
   410.000  b       server removes ticket 0000000001 from one/locks
  1000.000  a       release s1
  1000.000  a       s1 RELEASED HF_ELOST
  1000.000  a       s1 DONE
  1100.000  b       release s2
  1101.000  b       server removes ticket 0000000003 from one/leases
  1101.000  b       server removes ticket 0000000004 from one/leases
  1102.000  b       s2 RELEASED HF_OK
  1102.000  b       s2 DONE
  1500.000  -       end, tickets left: 0, nodes: 4, watches: 0
