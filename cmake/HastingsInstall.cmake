# hastings_install(NAME FOLDERS ...)   installs the library, its public headers, and what lets other
#     projects find it: hastingsConfig.cmake for CMake, hastings.pc for pkg-config.

include(CMakePackageConfigHelpers)

function(hastings_install name)
    cmake_parse_arguments(arg "" "" "FOLDERS" ${ARGN})
    install(TARGETS ${name} EXPORT ${name})
    install(FILES ${name}.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
    foreach(folder ${arg_FOLDERS})
        hastings_public_headers(${folder} headers)
        list(FILTER headers EXCLUDE REGEX "/simd\\.h$|/vector_math\\.h$") # for kernel sources alone
        foreach(header ${headers})
            get_filename_component(place ${header} DIRECTORY)
            install(FILES ${header} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/${name}/${place})
        endforeach()
    endforeach()

    # With CMake: find_package(hastings), target hastings::hastings.
    set(config_dir ${CMAKE_INSTALL_LIBDIR}/cmake/${name})
    install(EXPORT ${name} NAMESPACE hastings:: FILE ${name}Targets.cmake
            DESTINATION ${config_dir})
    configure_package_config_file(cmake/${name}Config.cmake.in ${name}Config.cmake
                                  INSTALL_DESTINATION ${config_dir})
    write_basic_package_version_file(${name}ConfigVersion.cmake COMPATIBILITY SameMinorVersion)
    install(FILES ${CMAKE_CURRENT_BINARY_DIR}/${name}Config.cmake
                  ${CMAKE_CURRENT_BINARY_DIR}/${name}ConfigVersion.cmake
                  cmake/FindOpenBLAS.cmake
            DESTINATION ${config_dir})

    # With pkg-config. The prefix is found from where the file lies, so that the tree can be moved.
    set(pc_dir ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
    file(RELATIVE_PATH PC_PREFIX /x/${pc_dir} /x)
    # A static library cannot say what it needs itself, so everyone who links it has to.
    get_target_property(type ${name} TYPE)
    if(type STREQUAL STATIC_LIBRARY)
        get_filename_component(blas_dir ${OPENBLAS_LIBRARY} DIRECTORY)
        set(PC_LIBS " -L${blas_dir} -lopenblas ${OpenMP_C_FLAGS} -lm")
    else()
        set(PC_PRIVATE ".private")
    endif()
    if(HS_WITH_NETCDF)
        set(PC_NETCDF " netcdf hdf5")
    endif()
    configure_file(cmake/${name}.pc.in ${name}.pc @ONLY)
    install(FILES ${CMAKE_CURRENT_BINARY_DIR}/${name}.pc DESTINATION ${pc_dir})
endfunction()
