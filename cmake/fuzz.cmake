# Each tests/fuzz/fuzz_NAME.c is one fuzz target: by libFuzzer in the preset fuzz, else with replay.c as its driver and a test
# that replays its seeds, the inputs that once broke it, and some random ones.
file(GLOB FUZZ_TARGETS CONFIGURE_DEPENDS tests/fuzz/fuzz_*.c)
add_library(fuzz_support STATIC tests/fuzz/fuzz.c tests/fuzz/table_check.c tests/fuzz/counts_check.c
  tests/fuzz/random_model.c tests/fuzz/quiet.c
  "$<FILTER:$<TARGET_OBJECTS:blica_cli_objects>,EXCLUDE,cli/(main|messages)\\.c>" cli/communicator_alone.c)
target_include_directories(fuzz_support PUBLIC tests/fuzz tests/support cli report src ${RANDOM123_INCLUDE} ${CSV_INCLUDE})
target_link_libraries(fuzz_support PUBLIC blica_static PkgConfig::JANSSON PkgConfig::ZLIB PkgConfig::ZSTD
  PkgConfig::CAIRO ${CSV_LIBRARY})
if(READSTAT_INCLUDE AND READSTAT_LIBRARY)
  target_compile_definitions(fuzz_support PUBLIC BLICA_READSTAT)
  target_link_libraries(fuzz_support PUBLIC ${READSTAT_LIBRARY})
endif()
foreach(source ${FUZZ_TARGETS})
  get_filename_component(target ${source} NAME_WE)
  string(REPLACE fuzz_ "" name ${target})
  if(BLICA_FUZZ)
    add_executable(${target} ${source})
    target_link_options(${target} PRIVATE -fsanitize=fuzzer)
  else()
    add_executable(${target} ${source} tests/fuzz/replay.c)
    set(random 300)
    if(name MATCHES "fit|loglik|mvn")
      set(random 60)
    endif()
    add_test(NAME fuzz/${name} COMMAND ${target} --random ${random} ${CMAKE_CURRENT_SOURCE_DIR}/tests/fuzz/seeds/${name}
      ${CMAKE_CURRENT_SOURCE_DIR}/tests/fuzz/crashes/${name})
    set_tests_properties(fuzz/${name} PROPERTIES ENVIRONMENT OPENBLAS_NUM_THREADS=1)
  endif()
  target_link_libraries(${target} PRIVATE fuzz_support)
endforeach()
