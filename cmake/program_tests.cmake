# Each tests/cli/*.bats and tests/install/*.bats drives the program as a user would.
find_program(BATS bats)
file(GLOB BATS_FILES CONFIGURE_DEPENDS tests/cli/*.bats tests/install/*.bats)
foreach(source ${BATS_FILES})
  get_filename_component(name ${source} NAME_WE)
  add_test(NAME cli/${name} COMMAND ${BATS} ${source} WORKING_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR})
  set_tests_properties(cli/${name} PROPERTIES ENVIRONMENT
    "BLICA=$<TARGET_FILE:blica_cli>;BLICA_BUILD=${CMAKE_CURRENT_BINARY_DIR};BLICA_SOURCE=${CMAKE_CURRENT_SOURCE_DIR}")
endforeach()

# Each other tests/parity/*.c is a program that such a comparison runs.
file(GLOB PARITY_PROGRAMS CONFIGURE_DEPENDS tests/parity/*.c)
list(FILTER PARITY_PROGRAMS EXCLUDE REGEX "/test_")
foreach(source ${PARITY_PROGRAMS})
  get_filename_component(name ${source} NAME_WE)
  add_executable(${name} ${source})
  target_include_directories(${name} PRIVATE src)
  target_link_libraries(${name} PRIVATE blica_static)
endforeach()

# Each tests/parity/*.sh compares with another implementation; it exits 77 when that one is not installed.
file(GLOB PARITY_FILES CONFIGURE_DEPENDS tests/parity/*.sh)
foreach(source ${PARITY_FILES})
  get_filename_component(name ${source} NAME_WE)
  add_test(NAME parity/${name} COMMAND bash ${source} WORKING_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR})
  set_tests_properties(parity/${name} PROPERTIES SKIP_RETURN_CODE 77 ENVIRONMENT
    "BLICA=$<TARGET_FILE:blica_cli>;BLICA_BUILD=${CMAKE_CURRENT_BINARY_DIR};BLICA_SOURCE=${CMAKE_CURRENT_SOURCE_DIR}")
endforeach()

# The Python and R packages, installed into the build folder. A sanitized library cannot be loaded into an interpreter that
# is not sanitized.
if(NOT BLICA_SANITIZE)
  foreach(name python/install python/run r/check)
    add_test(NAME ${name} COMMAND bash ${CMAKE_CURRENT_SOURCE_DIR}/tests/${name}.sh)
    set_tests_properties(${name} PROPERTIES SKIP_RETURN_CODE 77 ENVIRONMENT
      "BLICA=$<TARGET_FILE:blica_cli>;BLICA_BUILD=${CMAKE_CURRENT_BINARY_DIR};BLICA_SOURCE=${CMAKE_CURRENT_SOURCE_DIR}")
  endforeach()
  set_tests_properties(python/install PROPERTIES FIXTURES_SETUP python_package)
  set_tests_properties(python/run PROPERTIES FIXTURES_REQUIRED python_package)
  set_tests_properties(r/check PROPERTIES FIXTURES_SETUP r_package)
  set_tests_properties(parity/languages parity/gallery parity/docs PROPERTIES FIXTURES_REQUIRED "python_package;r_package")
  set_tests_properties(parity/acm parity/referee parity/tetrachoric_real PROPERTIES FIXTURES_REQUIRED r_package)
endif()

# tests/faults: one call of the program fails, or a signal reaches it; the quick part. `make faults` does all of it.
if(CMAKE_SYSTEM_NAME STREQUAL Linux AND CMAKE_SYSTEM_PROCESSOR STREQUAL x86_64)
  add_library(faults_shim MODULE tests/faults/shim.c)
  set_target_properties(faults_shim PROPERTIES C_VISIBILITY_PRESET default)
  target_compile_options(faults_shim PRIVATE -Wall -Wextra)
  target_link_libraries(faults_shim PRIVATE ${CMAKE_DL_LIBS})
  add_test(NAME faults/calls COMMAND /usr/bin/python3 ${CMAKE_CURRENT_SOURCE_DIR}/tests/faults/run.py --quick
    --blica $<TARGET_FILE:blica_cli> --shim $<TARGET_FILE:faults_shim>)
  set_tests_properties(faults/calls PROPERTIES SKIP_RETURN_CODE 77)
endif()
add_test(NAME faults/signals COMMAND /usr/bin/python3 ${CMAKE_CURRENT_SOURCE_DIR}/tests/faults/signals.py --quick
  --blica $<TARGET_FILE:blica_cli>)
