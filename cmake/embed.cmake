# SPDX-License-Identifier: Apache-2.0
# cmake -DSYMBOL=name -DHEADER=a/b.h -DOUTPUT=c.c -DINPUT=x;y -P embed.cmake
# Write C that defines the text of the files, one behind the other and with a
# NUL at its end, as the SYMBOL that HEADER declares.
set(bytes "")
foreach(file IN LISTS INPUT)
  file(READ ${file} hex HEX)
  string(APPEND bytes "${hex}")
endforeach()
string(REGEX REPLACE "(..)" "0x\\1," bytes "${bytes}")
file(WRITE ${OUTPUT}
  "#include \"${HEADER}\"\n\nconst char ${SYMBOL}[] = {${bytes}0};\n")
