# A layer is a folder: its *.cpp are the library, its *_test.cpp the tests beside the code. THREADS marks a layer whose
# tests also run under ThreadSanitizer.
#
# A layer sees only the header roots of the layers it names, and what those re-export. Header roots are
# symbolic links, one per layer, so an include that crosses a layer the wrong way does not compile.

function(add_layer name)
  cmake_parse_arguments(L "THREADS" "FOLDER" "DEPS;LIBS;PRIVATE_LIBS;TEST_LIBS" ${ARGN})
  if(NOT L_FOLDER)
    set(L_FOLDER ${name})
  endif()
  set(folder ${CMAKE_SOURCE_DIR}/src/${L_FOLDER})

  # Outside the preset's build folder: presets then share compiler cache entries.
  set(root ${CMAKE_SOURCE_DIR}/build/inc/${name})
  get_filename_component(parent ${root}/${L_FOLDER} DIRECTORY)
  file(MAKE_DIRECTORY ${parent})
  file(CREATE_LINK ${folder} ${root}/${L_FOLDER} SYMBOLIC)

  file(GLOB sources CONFIGURE_DEPENDS ${folder}/*.cpp)
  file(GLOB tests CONFIGURE_DEPENDS ${folder}/*_test.cpp)
  file(GLOB prop_tests CONFIGURE_DEPENDS ${folder}/*_prop_test.cpp)
  list(REMOVE_ITEM sources ${tests} "")
  list(REMOVE_ITEM tests ${prop_tests} "")

  if(sources)
    add_library(${name} STATIC ${sources})
    # Not libcrypto.a: that is OpenSSL's.
    set_target_properties(${name} PROPERTIES OUTPUT_NAME berth_${name})
    set(scope PUBLIC)
    target_link_libraries(${name} PRIVATE ${L_PRIVATE_LIBS})
  else()
    add_library(${name} INTERFACE)
    set(scope INTERFACE)
  endif()
  target_include_directories(${name} ${scope} ${root})
  target_link_libraries(${name} ${scope} ${L_DEPS} ${L_LIBS})

  set(labels unit)
  if(L_THREADS)
    list(APPEND labels threads)
  endif()
  if(tests)
    add_berth_test(${name}_test LABEL ${labels} SOURCES ${tests} LIBS ${name} ${L_TEST_LIBS})
  endif()
  if(prop_tests)
    add_berth_test(${name}_prop_test LABEL ${labels} SOURCES ${prop_tests} LIBS ${name} ${L_TEST_LIBS} rapidcheck)
  endif()
endfunction()

# What stages build: `ninja tests_unit` makes every test of that label.
function(add_to_stage name)
  foreach(label ${ARGN})
    if(NOT TARGET tests_${label})
      add_custom_target(tests_${label})
    endif()
    add_dependencies(tests_${label} ${name})
  endforeach()
endfunction()

# These sources of a target start the program `berth`, which they know as BERTH_PROGRAM. They alone: a path of this build
# in the flags of others would keep them out of the compiler cache.
function(starts_berth target)
  set_source_files_properties(${ARGN} PROPERTIES COMPILE_DEFINITIONS "BERTH_PROGRAM=\"$<TARGET_FILE:berth>\"")
  add_dependencies(${target} berth)
endfunction()

# A test executable: one ctest entry, so that a suite can share an expensive fixture. Labels are the kinds of tests that
# CONTRIBUTING lists; a suite that skips itself is reported as skipped, never as passed. `real` beside a kind marks a suite
# that talks to real processes: tools/suites gives it a second try. STARTS names its sources that start `berth`.
function(add_berth_test name)
  cmake_parse_arguments(T "" "TIMEOUT" "LABEL;SOURCES;LIBS;STARTS" ${ARGN})
  if(NOT BERTH_TESTS)
    return()
  endif()
  if(NOT T_TIMEOUT)
    set(T_TIMEOUT 300)
  endif()
  add_executable(${name} ${T_SOURCES})
  target_link_libraries(${name} PRIVATE ${T_LIBS} GTest::gmock GTest::gtest_main)
  if(T_STARTS)
    starts_berth(${name} ${T_STARTS})
  endif()
  add_to_stage(${name} ${T_LABEL})
  add_test(NAME ${name} COMMAND ${name} --gtest_brief=1)
  set(environment
      BERTH_CONTROLPLANE_DIR=${BERTH_CONTROLPLANE_DIR}
      BERTH_NODE_DIR=${BERTH_NODE_DIR}
      BERTH_SOURCE_DIR=${CMAKE_SOURCE_DIR}
      TSAN_OPTIONS=suppressions=${CMAKE_SOURCE_DIR}/cmake/tsan.supp)
  set_tests_properties(${name} PROPERTIES LABELS "${T_LABEL}" TIMEOUT ${T_TIMEOUT}
    ENVIRONMENT "${environment}" SKIP_REGULAR_EXPRESSION "\\[  SKIPPED \\]")
endfunction()

if(BERTH_TESTS)
  find_library(RAPIDCHECK_LIB rapidcheck REQUIRED)
  add_library(rapidcheck INTERFACE)
  target_link_libraries(rapidcheck INTERFACE ${RAPIDCHECK_LIB})
endif()
