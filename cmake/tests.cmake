# Each tests/<kind>/test_*.c is one cmocka program; it sees the inside of the library through the static one.
file(GLOB TEST_SOURCES CONFIGURE_DEPENDS tests/unit/test_*.c tests/identity/test_*.c tests/recovery/test_*.c)
foreach(source ${TEST_SOURCES})
  get_filename_component(name ${source} NAME_WE)
  get_filename_component(folder ${source} DIRECTORY)
  get_filename_component(kind ${folder} NAME)
  add_executable(${name} ${source})
  target_include_directories(${name} PRIVATE src tests ${RANDOM123_INCLUDE})
  target_link_libraries(${name} PRIVATE blica_static PkgConfig::CMOCKA PkgConfig::JANSSON PkgConfig::ZLIB)
  add_test(NAME ${kind}/${name} COMMAND ${name} WORKING_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR})
  # Threads of small parallel loops sleep between them instead of spinning: tests run side by side.
  set_tests_properties(${kind}/${name} PROPERTIES ENVIRONMENT OMP_WAIT_POLICY=passive)
endforeach()

# As the kernels of src/num are compiled for AVX2 and AVX-512.
set_source_files_properties(tests/unit/test_accuracy.c PROPERTIES COMPILE_OPTIONS -ffp-contract=fast)
