# Hastings parallelises outside the matrix products, so it wants OpenBLAS without threads of its
# own: Debian's libopenblas-serial-dev. Any other OpenBLAS works, pinned to one thread at run time.
find_path(OPENBLAS_INCLUDE cblas.h PATH_SUFFIXES openblas-serial openblas
          PATHS /usr/include/${CMAKE_LIBRARY_ARCHITECTURE} NO_DEFAULT_PATH)
find_path(OPENBLAS_INCLUDE cblas.h PATH_SUFFIXES openblas-serial openblas openblas-pthread)
find_library(OPENBLAS_LIBRARY openblas PATH_SUFFIXES openblas-serial)
if(NOT OPENBLAS_INCLUDE OR NOT OPENBLAS_LIBRARY)
    message(FATAL_ERROR "OpenBLAS not found: install libopenblas-serial-dev")
endif()
add_library(OpenBLASSerial INTERFACE)
target_include_directories(OpenBLASSerial SYSTEM INTERFACE ${OPENBLAS_INCLUDE})
target_link_libraries(OpenBLASSerial INTERFACE ${OPENBLAS_LIBRARY})
