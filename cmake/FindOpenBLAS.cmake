# Finds OpenBLAS, as the target OpenBLAS::OpenBLAS.
#
# Hastings calls it from many threads at once, each call on one thread: tensor/blas.c pins it to
# one. A build without threads, such as Debian's libopenblas-serial-dev, has no locks either and
# cannot stand that (0.3.21 gives wrong results), so a build with threads is wanted:
# libopenblas-pthread-dev. With another, blas.c lets in one thread at a time.
set(variants openblas-pthread openblas-openmp openblas)
find_path(OPENBLAS_INCLUDE cblas.h PATH_SUFFIXES ${variants}
          PATHS /usr/include/${CMAKE_LIBRARY_ARCHITECTURE} NO_DEFAULT_PATH)
find_path(OPENBLAS_INCLUDE cblas.h PATH_SUFFIXES ${variants})
find_library(OPENBLAS_LIBRARY openblas PATH_SUFFIXES ${variants})
mark_as_advanced(OPENBLAS_INCLUDE OPENBLAS_LIBRARY)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(OpenBLAS
    REQUIRED_VARS OPENBLAS_LIBRARY OPENBLAS_INCLUDE
    REASON_FAILURE_MESSAGE "On Debian, install libopenblas-pthread-dev.")

if(OpenBLAS_FOUND AND NOT TARGET OpenBLAS::OpenBLAS)
    add_library(OpenBLAS::OpenBLAS INTERFACE IMPORTED)
    target_include_directories(OpenBLAS::OpenBLAS SYSTEM INTERFACE ${OPENBLAS_INCLUDE})
    target_link_libraries(OpenBLAS::OpenBLAS INTERFACE ${OPENBLAS_LIBRARY})
endif()
