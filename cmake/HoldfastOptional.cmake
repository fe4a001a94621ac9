# SPDX-License-Identifier: Apache-2.0

# hf_optional(OPTION MODULES module... PREFIX prefix NEEDS what DEBIAN package
#             BUILDS what INTO file):
# Is FILE, a module of ours that does WHAT, to be built, which needs other
# people's development files?  OPTION is AUTO, if they are there; ON, or it is an
# error; or OFF.  Sets OPTION_BUILT to TRUE or FALSE, and OPTION_WHY to why not.
function(hf_optional option)
  cmake_parse_arguments(PARSE_ARGV 1 arg ""
                        "PREFIX;NEEDS;DEBIAN;BUILDS;INTO" "MODULES")
  set(${option} AUTO CACHE STRING
      "Build ${arg_BUILDS}: AUTO (if there is ${arg_NEEDS}), ON or OFF")
  set_property(CACHE ${option} PROPERTY STRINGS AUTO ON OFF)
  # Look again each time: a package may have been installed, or removed.
  unset(${arg_PREFIX}_FOUND CACHE)
  if(${option})
    pkg_check_modules(${arg_PREFIX} QUIET IMPORTED_TARGET GLOBAL ${arg_MODULES})
  endif()
  if(${arg_PREFIX}_FOUND)
    message(STATUS "${arg_BUILDS}: yes, there is ${arg_NEEDS}")
    set(${option}_BUILT TRUE PARENT_SCOPE)
    set(${option}_WHY "" PARENT_SCOPE)
    return()
  endif()

  set(missing "there are no development files of ${arg_NEEDS}")
  if(NOT ${option})
    set(why "it was built with ${option}=OFF")
    message(STATUS "${arg_BUILDS}: no, ${option} is OFF")
  elseif(${option} STREQUAL "AUTO")
    set(why "it was built without ${arg_NEEDS} (Debian: ${arg_DEBIAN})")
    message(STATUS "${arg_BUILDS}: no, ${missing} (Debian: ${arg_DEBIAN})")
  else()
    message(FATAL_ERROR
      "${option} is ${${option}}, but ${missing}; install them "
      "(Debian: apt-get install ${arg_DEBIAN}), or set ${option} to AUTO or OFF")
  endif()
  # One of an earlier build would still be loaded.
  file(REMOVE ${HF_MODULES_BUILT}/${arg_INTO})
  set(${option}_BUILT FALSE PARENT_SCOPE)
  set(${option}_WHY "${why}" PARENT_SCOPE)
endfunction()

hf_optional(HF_TLS PREFIX OPENSSL MODULES libssl>=3.0 libcrypto>=3.0
  NEEDS "OpenSSL 3.0 or later" DEBIAN libssl-dev
  BUILDS "TLS for zks:, rediss: and etcds:" INTO transport-tls.so)
hf_optional(HF_REDIS PREFIX HIREDIS MODULES hiredis>=0.14
  NEEDS "hiredis 0.14 or later" DEBIAN libhiredis-dev
  BUILDS "The engine for redis:, rediss: and quorum:" INTO engine-redis.so)
# From 14 on calls can be sent one behind the other (pipeline mode).
hf_optional(HF_POSTGRES PREFIX LIBPQ MODULES libpq>=14
  NEEDS "libpq 14 or later" DEBIAN libpq-dev
  BUILDS "The engine for postgresql:" INTO engine-postgresql.so)
# nghttp2_session_mem_recv() and the allocator's hook are older; 1.40 is what
# the oldest distributions in use have.
hf_optional(HF_ETCD PREFIX NGHTTP2 MODULES libnghttp2>=1.40
  NEEDS "nghttp2 1.40 or later" DEBIAN libnghttp2-dev
  BUILDS "The engine for etcd: and etcds:" INTO engine-etcd.so)
hf_optional(HF_SASL PREFIX SASL2 MODULES libsasl2>=2.1
  NEEDS "libsasl2 2.1 or later" DEBIAN libsasl2-dev
  BUILDS "SASL for zk: and zks:" INTO transport-sasl.so)
# For holdfast --version -v.
set(HF_WHY_DEFINITIONS "")
foreach(option IN ITEMS HF_TLS HF_REDIS HF_POSTGRES HF_ETCD HF_SASL)
  list(APPEND HF_WHY_DEFINITIONS "${option}_WHY=\"${${option}_WHY}\"")
endforeach()
