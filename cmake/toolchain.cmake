# Language level, warnings, optimisation and the compiler cache: one place for every target.

set(CMAKE_CXX_STANDARD 23)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_CXX_SCAN_FOR_MODULES OFF)

set(CMAKE_CXX_FLAGS_DEV "-O1 -g1")
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -g1 -D_FORTIFY_SOURCE=2 -fstack-protector-strong")

find_program(BERTH_CCACHE ccache)
if(BERTH_CCACHE)
  # A checkout at another path must hit the same cache entries: paths are made relative to the tree.
  set(CMAKE_CXX_COMPILER_LAUNCHER
      ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} CCACHE_NOHASHDIR=1
      CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
      ${BERTH_CCACHE})
endif()
add_compile_options(-ffile-prefix-map=${CMAKE_SOURCE_DIR}=.)

find_program(BERTH_MOLD mold)
if(BERTH_MOLD)
  add_link_options(-fuse-ld=mold)
endif()

add_compile_options(-Wall -Wextra -Wconversion -Wshadow -Wnon-virtual-dtor -Werror)
add_compile_definitions(_GLIBCXX_ASSERTIONS)
# Left to itself simdjson turns its checks on by -O level, and mixed levels break the one-definition rule.
add_compile_definitions(SIMDJSON_DEVELOPMENT_CHECKS=0)

if(BERTH_SANITIZE)
  add_compile_options(-fsanitize=${BERTH_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${BERTH_SANITIZE})
  if(BERTH_SANITIZE MATCHES "thread")
    add_compile_definitions(BERTH_TSAN)
  endif()
  if(BERTH_SANITIZE MATCHES "address")
    add_compile_definitions(BERTH_ASAN)
  endif()
endif()
