# A layer is a folder: its *.cpp are the library, its *_test.cpp the tests beside the code.
#
# A layer sees only the header roots of the layers it names, and what those re-export. Header roots are
# symbolic links, one per layer, so an include that crosses a layer the wrong way does not compile.

function(add_layer name)
  cmake_parse_arguments(L "" "FOLDER" "DEPS;LIBS;PRIVATE_LIBS;TEST_LIBS" ${ARGN})
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
    set(scope PUBLIC)
    target_link_libraries(${name} PRIVATE ${L_PRIVATE_LIBS})
  else()
    add_library(${name} INTERFACE)
    set(scope INTERFACE)
  endif()
  target_include_directories(${name} ${scope} ${root})
  target_link_libraries(${name} ${scope} ${L_DEPS} ${L_LIBS})

  if(tests)
    add_berth_test(${name}_test LABEL unit SOURCES ${tests} LIBS ${name} ${L_TEST_LIBS})
  endif()
  if(prop_tests)
    add_berth_test(${name}_prop_test LABEL unit SOURCES ${prop_tests} LIBS ${name} ${L_TEST_LIBS} rapidcheck)
  endif()
endfunction()

# A test executable. WHOLE runs it as one ctest entry, for suites that share an expensive fixture.
function(add_berth_test name)
  cmake_parse_arguments(T "WHOLE" "LABEL;TIMEOUT" "SOURCES;LIBS" ${ARGN})
  if(NOT BERTH_TESTS)
    return()
  endif()
  if(NOT T_TIMEOUT)
    set(T_TIMEOUT 120)
  endif()
  add_executable(${name} ${T_SOURCES})
  target_link_libraries(${name} PRIVATE ${T_LIBS} GTest::gmock GTest::gtest_main)
  set(environment
      "BERTH_CONTROLPLANE_DIR=${BERTH_CONTROLPLANE_DIR};BERTH_SOURCE_DIR=${CMAKE_SOURCE_DIR}"
      "TSAN_OPTIONS=suppressions=${CMAKE_SOURCE_DIR}/cmake/tsan.supp")
  if(T_WHOLE)
    add_test(NAME ${name} COMMAND ${name})
    set_tests_properties(${name} PROPERTIES LABELS ${T_LABEL} TIMEOUT ${T_TIMEOUT}
      ENVIRONMENT "${environment}" SKIP_REGULAR_EXPRESSION "\\[  SKIPPED \\]")
  else()
    gtest_discover_tests(${name} DISCOVERY_MODE PRE_TEST
      PROPERTIES LABELS ${T_LABEL} TIMEOUT ${T_TIMEOUT} ENVIRONMENT "${environment}")
  endif()
endfunction()

if(BERTH_TESTS)
  find_library(RAPIDCHECK_LIB rapidcheck REQUIRED)
  add_library(rapidcheck INTERFACE)
  target_link_libraries(rapidcheck INTERFACE ${RAPIDCHECK_LIB})
endif()
