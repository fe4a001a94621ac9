# One queue, five authors.  What is no ticket is ignored; each of the others is
# waited for in the order of its number, whatever its name begins with.
world servers=1 timeout=6000 clients=1
  100    -  node one zzz-readme
  110    -  node one x-72057594037927936-
  120    -  node one 7d0e4b0a1c2d4e5f8a9b0c1d2e3f4a5b__lock__
  130    -  node one _c_7d0e4b0a1c2d4e5f8a9b0c1d2e3f4a5b-lock-
  140    -  node one _c_7d0e4b0a-1c2d-4e5f-8a9b-0c1d2e3f4a5c-lock-
  200    a  want mutex one
  300    -  delete one _c_7d0e4b0a-1c2d-4e5f-8a9b-0c1d2e3f4a5c-lock-0000000004
  400    -  delete one x-72057594037927936-0000000001
  500    -  delete one 7d0e4b0a1c2d4e5f8a9b0c1d2e3f4a5b__lock__0000000002
  600    -  delete one _c_7d0e4b0a1c2d4e5f8a9b0c1d2e3f4a5b-lock-0000000003
 1000    a  release m1
 2000    -  end
expect
     0.000  a       open
     4.000  a       engine connected to s1
     4.000  a       state CONNECTED
   100.000  other   node one zzz-readme
   110.000  -       server adds ticket 1 to one
   110.000  other   node one x-72057594037927936-
   120.000  -       server adds ticket 2 to one
   120.000  other   node one 7d0e4b0a1c2d4e5f8a9b0c1d2e3f4a5b__lock__
   130.000  -       server adds ticket 3 to one
   130.000  other   node one _c_7d0e4b0a1c2d4e5f8a9b0c1d2e3f4a5b-lock-
   140.000  -       server adds ticket 4 to one
   140.000  other   node one _c_7d0e4b0a-1c2d-4e5f-8a9b-0c1d2e3f4a5c-lock-
   200.000  a       want m1
   201.000  a       server adds ticket 5 to one
   204.000  a       m1 WAITING ahead=4 holder=foreign
   300.000  -       server removes ticket 0000000004 from one
   300.000  other   delete one _c_7d0e4b0a-1c2d-4e5f-8a9b-0c1d2e3f4a5c-lock-0000000004
   303.000  a       m1 WAITING ahead=3 holder=foreign
   400.000  -       server removes ticket 0000000001 from one
   400.000  other   delete one x-72057594037927936-0000000001
   500.000  -       server removes ticket 0000000002 from one
   500.000  other   delete one 7d0e4b0a1c2d4e5f8a9b0c1d2e3f4a5b__lock__0000000002
   507.000  a       m1 WAITING ahead=1 holder=foreign
   600.000  -       server removes ticket 0000000003 from one
   600.000  other   delete one _c_7d0e4b0a1c2d4e5f8a9b0c1d2e3f4a5b-lock-0000000003
   601.000  a       m1 GRANTED token=4294967304 safe-until=6942
  1000.000  a       release m1
  1001.000  a       server removes ticket 0000000005 from one
  1002.000  a       m1 RELEASED HF_OK
  1002.000  a       m1 DONE
  2000.000  -       end, tickets left: 0, nodes: 2, watches: 0
