# SPDX-License-Identifier: Apache-2.0
# Programs that use etcd's own client for Go.  Debian has its source for builds
# without a network (golang-etcd-server-dev).
set(HF_GO_PATH /usr/share/gocode)

# hf_etcd_go_program(target name [ALL]): build the program ${name} from
# ${name}.go as the target ${target}, with ALL as a part of every build.  Without
# Go or that source there is no such target.
function(hf_etcd_go_program target name)
  set(program ${CMAKE_CURRENT_BINARY_DIR}/${name})
  find_program(HF_GO go)
  if(NOT HF_GO OR
     NOT EXISTS ${HF_GO_PATH}/src/go.etcd.io/etcd/clientv3/concurrency)
    return()
  endif()
  add_custom_command(
    OUTPUT ${program}
    COMMAND ${CMAKE_COMMAND} -E env CGO_ENABLED=0 GO111MODULE=off GOFLAGS=
            GOPATH=${HF_GO_PATH} ${HF_GO} build -o ${program}
            ${CMAKE_CURRENT_SOURCE_DIR}/${name}.go
    DEPENDS ${name}.go
    VERBATIM)
  add_custom_target(${target} ${ARGN} DEPENDS ${program})
endfunction()
