# What `cmake --install` puts under the prefix: program, libraries, header, pkg-config file, CMake package, man
# pages and completions. The last two are written by the program itself from its tables.
include(CMakePackageConfigHelpers)
set(BLICA_CMAKE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/blica)

install(TARGETS blica EXPORT blicaTargets
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
  PUBLIC_HEADER DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(TARGETS blica_static EXPORT blicaStaticTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})

# find_package(blica) gives blica::blica, the shared library; find_package(blica COMPONENTS static) blica::static too.
install(EXPORT blicaTargets NAMESPACE blica:: DESTINATION ${BLICA_CMAKE_DIR})
install(EXPORT blicaStaticTargets NAMESPACE blica:: DESTINATION ${BLICA_CMAKE_DIR})
configure_package_config_file(cmake/blicaConfig.cmake.in ${CMAKE_CURRENT_BINARY_DIR}/blicaConfig.cmake
  INSTALL_DESTINATION ${BLICA_CMAKE_DIR})
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/blicaConfigVersion.cmake COMPATIBILITY SameMajorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/blicaConfig.cmake ${CMAKE_CURRENT_BINARY_DIR}/blicaConfigVersion.cmake
  DESTINATION ${BLICA_CMAKE_DIR})

# Relative to the .pc file itself, so that a tree installed under one name works under another.
file(RELATIVE_PATH BLICA_PC_PREFIX /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
set(BLICA_PC_LIBS ${BLICA_BLAS_LIBS} ${CMAKE_THREAD_LIBS_INIT} -lm)
list(JOIN BLICA_PC_LIBS " " BLICA_PC_LIBS)
configure_file(cmake/blica.pc.in ${CMAKE_CURRENT_BINARY_DIR}/blica.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/blica.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

# What a programmer looks at: the example, and the C interface as a page, where Python can write it.
install(FILES README.md LICENSE CHANGELOG.md VERSIONING.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(FILES examples/recover.c DESTINATION ${CMAKE_INSTALL_DOCDIR}/examples)
find_program(BLICA_PYTHON3 python3)
if(BLICA_PYTHON3)
  set(page ${CMAKE_CURRENT_BINARY_DIR}/c-interface.html)
  file(GLOB headers CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/include/*.h)
  add_custom_command(OUTPUT ${page} VERBATIM
    COMMAND ${BLICA_PYTHON3} ${CMAKE_CURRENT_SOURCE_DIR}/tools/header_page.py ${CMAKE_CURRENT_SOURCE_DIR}/include ${page} ${PROJECT_VERSION}
    DEPENDS ${headers} tools/header_page.py)
  add_custom_target(blica_c_page ALL DEPENDS ${page})
  install(FILES ${page} DESTINATION ${CMAKE_INSTALL_DOCDIR})
endif()

if(TARGET blica_mpi)
  install(TARGETS blica_mpi LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} PUBLIC_HEADER DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
endif()
if(TARGET blica_mpi_cli)
  install(TARGETS blica_mpi_cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  configure_file(cmake/blica-mpi.1.in ${CMAKE_CURRENT_BINARY_DIR}/blica-mpi.1 @ONLY)
  install(FILES ${CMAKE_CURRENT_BINARY_DIR}/blica-mpi.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
endif()
if(TARGET blica_cli)
  install(TARGETS blica_cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  set(made ${CMAKE_CURRENT_BINARY_DIR}/doc)
  add_custom_command(OUTPUT ${made}/stamp
    COMMAND ${CMAKE_COMMAND} -E rm -rf ${made}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${made}/man
    COMMAND blica_cli self-doc man ${made}/man
    COMMAND ${CMAKE_COMMAND} -E touch ${made}/stamp
    DEPENDS blica_cli COMMENT "Writing man pages" VERBATIM)
  add_custom_target(blica_doc ALL DEPENDS ${made}/stamp)
  install(DIRECTORY ${made}/man/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
  install(FILES cmake/completion/blica DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
  install(FILES cmake/completion/_blica DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
  install(FILES cmake/completion/blica.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
endif()
