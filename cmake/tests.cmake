# Each tests/<kind>/test_*.c, and tests/unit/<folder of src>/test_*.c, is one cmocka program; it sees the inside of the
# library through the static one. Its name in ctest is <kind>/<program>.
file(GLOB TEST_SOURCES CONFIGURE_DEPENDS tests/*/test_*.c tests/unit/*/test_*.c)
if(NOT JANSSON_FOUND)
  list(FILTER TEST_SOURCES EXCLUDE REGEX "test_(model_io|published)\\.c")
endif()
if(WIN32) # what forks, or asks for limits that Windows does not have
  list(FILTER TEST_SOURCES EXCLUDE REGEX "test_(fork|locale|outfile)\\.c")
endif()
include(CheckSymbolExists)
check_symbol_exists(mallinfo2 malloc.h HAVE_MALLINFO2) # glibc's: how much memory is in use
if(NOT HAVE_MALLINFO2)
  list(FILTER TEST_SOURCES EXCLUDE REGEX "test_leaks\\.c")
endif()
foreach(source ${TEST_SOURCES})
  get_filename_component(name ${source} NAME_WE)
  file(RELATIVE_PATH kind ${CMAKE_CURRENT_SOURCE_DIR}/tests ${source})
  string(REGEX REPLACE "/.*" "" kind ${kind})
  add_executable(${name} ${source} $<$<BOOL:${WIN32}>:tests/support/windows.c>)
  target_include_directories(${name} PRIVATE src tests tests/support)
  target_link_libraries(${name} PRIVATE blica_static PkgConfig::CMOCKA $<TARGET_NAME_IF_EXISTS:PkgConfig::JANSSON> PkgConfig::ZLIB)
  add_test(NAME ${kind}/${name} COMMAND ${name} WORKING_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR})
  # Tests run side by side: threads of small parallel loops sleep between them instead of spinning, and the tests' own
  # linear algebra has one thread (on a busy machine two threads of OpenBLAS spend minutes waiting for each other).
  set_tests_properties(${kind}/${name} PROPERTIES ENVIRONMENT "OMP_WAIT_POLICY=passive;OPENBLAS_NUM_THREADS=1"
    SKIP_RETURN_CODE 77)
endforeach()

# As the kernels of src/num are compiled for AVX2 and AVX-512.
set_source_files_properties(tests/unit/num/test_accuracy.c PROPERTIES COMPILE_OPTIONS -ffp-contract=fast)

# What the bench of accuracy compares with is tested as well.
target_sources(test_bound PRIVATE bench/bound.c)
target_include_directories(test_bound PRIVATE bench)

if(NOT WIN32)
  # A program that loads the shared library at run time, and unloads it.
  add_executable(unload tests/unit/base/unload.c)
  target_include_directories(unload PRIVATE include)
  target_compile_definitions(unload PRIVATE _POSIX_C_SOURCE=200809L)
  target_link_libraries(unload PRIVATE ${CMAKE_DL_LIBS})
  add_test(NAME unit/unload COMMAND unload $<TARGET_FILE:blica>)
  set_tests_properties(unit/unload PROPERTIES ENVIRONMENT "OMP_WAIT_POLICY=active") # its threads are awake meanwhile
endif()

# The recipe for a new estimator, taken: its file, and its row in a copy of the table of methods, which stands before the
# library's own in the order of linking.
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS src/estimate/method.c)
file(READ src/estimate/method.c table)
string(REGEX REPLACE "(#define EACH_METHOD\\(ROW\\)[^\n]*\n([^\n]+\n)*[^\n]+)\n\n"
  "\\1 \\\\\n  ROW(eigen, 7, no, yes, no, \"leading eigenvectors\", .estimate = bl_estimate_eigen, .wants_cor = true, .covariance = BL_COVARIANCE_CORRELATIONS)\n\n"
  with_row "${table}")
if(with_row STREQUAL table)
  message(FATAL_ERROR "src/estimate/method.c has no table EACH_METHOD to add a row to")
endif()
file(CONFIGURE OUTPUT added/method.c CONTENT "#include \"added/eigen.h\"\n${with_row}" @ONLY)
target_sources(test_added_method PRIVATE tests/added/eigen.c ${CMAKE_CURRENT_BINARY_DIR}/added/method.c)
