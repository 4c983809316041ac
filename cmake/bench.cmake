# Each bench/bench_NAME.c is a program bench_NAME that prints a small table. Not part of `all`:
# cmake --build build/release --target benches, then run build/release/bench_NAME.
file(GLOB BENCH_SOURCES CONFIGURE_DEPENDS bench/bench_*.c)
add_custom_target(benches)
foreach(source ${BENCH_SOURCES})
  get_filename_component(name ${source} NAME_WE)
  add_executable(${name} EXCLUDE_FROM_ALL ${source})
  target_include_directories(${name} PRIVATE src tests/support cli)
  target_link_libraries(${name} PRIVATE blica_static PkgConfig::JANSSON PkgConfig::ZLIB PkgConfig::ZSTD)
  add_dependencies(benches ${name})
endforeach()
# Reading tables is the program's, not the library's.
file(GLOB TABLE_SOURCES CONFIGURE_DEPENDS cli/table*.c cli/byte_source.c cli/messages.c
  cli/communicator_alone.c)
target_sources(bench_table PRIVATE ${TABLE_SOURCES})
target_sources(bench_accuracy PRIVATE bench/bound.c)
