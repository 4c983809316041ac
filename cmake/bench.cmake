# Each bench/bench_*.c is a program, built only when asked for: cmake --build build/release --target bench_NAME
file(GLOB BENCH_SOURCES CONFIGURE_DEPENDS bench/bench_*.c)
foreach(source ${BENCH_SOURCES})
  get_filename_component(name ${source} NAME_WE)
  add_executable(${name} EXCLUDE_FROM_ALL ${source})
  target_include_directories(${name} PRIVATE src tests ${RANDOM123_INCLUDE})
  target_link_libraries(${name} PRIVATE blica_static)
endforeach()
