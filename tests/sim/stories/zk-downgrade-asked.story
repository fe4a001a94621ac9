# Somebody asks a writer to release just while it becomes a reader, which begins
# a little earlier each time.  The request is written into the write node, whose
# watch has been taken back, or finds it gone and looks for the read node.  The
# owner hears of each.
world servers=3 clients=2
  100  a  want write one
  160  b  ask w1
  164  a  downgrade w1
  200  a  release w1
  250  a  want write one
  310  b  ask w2
  313  a  downgrade w2
  350  a  release w2
  400  a  want write one
  460  b  ask w3
  462  a  downgrade w3
  500  a  release w3
  550  a  want write one
  610  b  ask w4
  611  a  downgrade w4
  650  a  release w4
  700  a  want write one
  760  b  ask w5
  760  a  downgrade w5
  800  a  release w5
  850  a  want write one
  909  a  downgrade w6
  910  b  ask w6
  950  a  release w6
 1000  a  want write one
 1058  a  downgrade w7
 1060  b  ask w7
 1100  a  release w7
 1150  a  want write one
 1207  a  downgrade w8
 1210  b  ask w8
 1250  a  release w8
 1400  -  end
expect
     0.000  a       open
     0.000  b       open
     5.036  a       engine connected to s1
     5.036  a       state CONNECTED
     5.245  b       engine connected to s1
     5.245  b       state CONNECTED
   100.000  a       want w1
   104.960  a       server adds ticket 0 to one
   106.146  a       w1 GRANTED token=4294967301 safe-until=10902
   160.000  b       ask w1 to let go
   164.000  a       downgrade w1
   165.330  b       ask ANSWERED HF_OK found
   170.248  a       server adds ticket 0 to one
   170.248  a       server removes ticket 0000000000 from one
   171.632  a       w1 DOWNGRADED HF_OK
   173.632  a       w1 REVOKED
   200.000  a       release w1
   201.754  a       server removes ticket 0000000000 from one
   202.970  a       w1 RELEASED HF_OK
   202.970  a       w1 DONE
   250.000  a       want w2
   251.863  a       server adds ticket 2 to one
   252.949  a       w2 GRANTED token=4294967307 safe-until=10902
   310.000  b       ask w2 to let go
   313.000  a       downgrade w2
   314.661  b       ask ANSWERED HF_OK found
   319.167  a       server adds ticket 2 to one
   319.167  a       server removes ticket 0000000002 from one
   320.631  a       w2 DOWNGRADED HF_OK
   322.631  a       w2 REVOKED
   350.000  a       release w2
   351.725  a       server removes ticket 0000000002 from one
   353.059  a       w2 RELEASED HF_OK
   353.059  a       w2 DONE
   400.000  a       want w3
   401.762  a       server adds ticket 4 to one
   402.836  a       w3 GRANTED token=4294967313 safe-until=10902
   460.000  b       ask w3 to let go
   462.000  a       downgrade w3
   463.265  a       server adds ticket 4 to one
   463.265  a       server removes ticket 0000000004 from one
   464.543  a       w3 DOWNGRADED HF_OK
   470.099  b       ask ANSWERED HF_OK found
   472.099  a       w3 REVOKED
   500.000  a       release w3
   501.509  a       server removes ticket 0000000004 from one
   502.781  a       w3 RELEASED HF_OK
   502.781  a       w3 DONE
   550.000  a       want w4
   551.446  a       server adds ticket 6 to one
   552.633  a       w4 GRANTED token=4294967319 safe-until=10902
   610.000  b       ask w4 to let go
   611.000  a       downgrade w4
   612.593  a       server adds ticket 6 to one
   612.593  a       server removes ticket 0000000006 from one
   613.767  a       w4 DOWNGRADED HF_OK
   620.340  b       ask ANSWERED HF_OK found
   622.340  a       w4 REVOKED
   650.000  a       release w4
   651.388  a       server removes ticket 0000000006 from one
   652.691  a       w4 RELEASED HF_OK
   652.691  a       w4 DONE
   700.000  a       want w5
   701.277  a       server adds ticket 8 to one
   702.340  a       w5 GRANTED token=4294967325 safe-until=10902
   760.000  b       ask w5 to let go
   760.000  a       downgrade w5
   761.883  a       server adds ticket 8 to one
   761.883  a       server removes ticket 0000000008 from one
   763.244  a       w5 DOWNGRADED HF_OK
   771.288  b       ask ANSWERED HF_OK found
   773.288  a       w5 REVOKED
   800.000  a       release w5
   801.527  a       server removes ticket 0000000008 from one
   802.862  a       w5 RELEASED HF_OK
   802.862  a       w5 DONE
   850.000  a       want w6
   851.422  a       server adds ticket 10 to one
   852.473  a       w6 GRANTED token=4294967331 safe-until=10902
   909.000  a       downgrade w6
   910.000  b       ask w6 to let go
   910.600  a       server adds ticket 10 to one
   910.600  a       server removes ticket 0000000010 from one
   912.037  a       w6 DOWNGRADED HF_OK
   914.779  b       ask ANSWERED HF_OK found
   916.779  a       w6 REVOKED
   950.000  a       release w6
   951.837  a       server removes ticket 0000000010 from one
   953.137  a       w6 RELEASED HF_OK
   953.137  a       w6 DONE
  1000.000  a       want w7
  1001.452  a       server adds ticket 12 to one
  1002.915  a       w7 GRANTED token=4294967336 safe-until=10902
  1058.000  a       downgrade w7
  1059.397  a       server adds ticket 12 to one
  1059.397  a       server removes ticket 0000000012 from one
  1060.000  b       ask w7 to let go
  1060.438  a       w7 DOWNGRADED HF_OK
  1065.188  b       ask ANSWERED HF_OK found
  1067.188  a       w7 REVOKED
  1100.000  a       release w7
  1101.500  a       server removes ticket 0000000012 from one
  1102.593  a       w7 RELEASED HF_OK
  1102.593  a       w7 DONE
  1150.000  a       want w8
  1151.401  a       server adds ticket 14 to one
  1152.745  a       w8 GRANTED token=4294967341 safe-until=10902
  1207.000  a       downgrade w8
  1208.911  a       server adds ticket 14 to one
  1208.911  a       server removes ticket 0000000014 from one
  1210.000  b       ask w8 to let go
  1210.185  a       w8 DOWNGRADED HF_OK
  1215.647  b       ask ANSWERED HF_OK found
  1217.647  a       w8 REVOKED
  1250.000  a       release w8
  1251.477  a       server removes ticket 0000000014 from one
  1252.785  a       w8 RELEASED HF_OK
  1252.785  a       w8 DONE
  1400.000  -       end, tickets left: 0, nodes: 1, watches: 0
