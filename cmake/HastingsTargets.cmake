# hastings_folder(NAME LAYERS lower...)   the sources of one folder and its subfolders, which may include
#     <hastings/NAME/...> and <hastings/lower/...> and nothing else. Every folder has an include root of
#     its own with its public headers alone, so neither an upward #include nor one of another folder's
#     internal header compiles.
# hastings_kernels(NAME "LAYERS" source...)  compiles sources once per instruction set and number
#     type; a folder's *_kernels.c are compiled so by themselves. HS_KERNEL_FLAGS, which the preset fuzz sets,
#     come last.
# hastings_look_inside(TARGET)            lets a test or benchmark include internal headers.
# hastings_link_kernels(TARGET NAME)      adds what hastings_kernels(NAME ...) compiled to a target.
# hastings_library(NAME FOLDERS ...)      the library made of the folders, which HastingsInstall.cmake installs;
#     NAME_inside is the same as a static library, NAME_exported as a shared one.
# hastings_program(NAME FOLDERS ...)      the program of the folders, cli/main.c first, with its data;
#     all but main.c is the library NAME_program too, which tests link before the library.

set(HS_WARNINGS -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wstrict-prototypes
    -Wmissing-prototypes -Wcast-qual -Wvla -Wdouble-promotion -Wundef)
# Contraction is off so that compilers agree on the bits of scalar code; kernels ask for FMA.
set(HS_CODEGEN -fno-math-errno -fno-trapping-math -ffp-contract=off)
# Programs and shared libraries bind their symbols at the start, into memory that is read-only from then on.
set(HS_LINKING -Wl,-z,relro,-z,now)

# Whether a build checks its buffers at run time: it is optimised, which _FORTIFY_SOURCE needs, and has no sanitizer,
# which would see less. A _FORTIFY_SOURCE of the user's own stays.
function(hastings_is_hardened result)
    string(TOUPPER "${CMAKE_BUILD_TYPE}" type)
    set(flags "${CMAKE_C_FLAGS} ${CMAKE_C_FLAGS_${type}}")
    set(${result} OFF PARENT_SCOPE)
    if(flags MATCHES "-O[123s]" AND NOT flags MATCHES "-fsanitize|_FORTIFY_SOURCE")
        set(${result} ON PARENT_SCOPE)
    endif()
endfunction()

# Kernels, which have no buffers of their own, are KERNELS and go unchecked.
function(hastings_flags target)
    target_compile_options(${target} PRIVATE ${HS_WARNINGS} ${HS_CODEGEN}
                           $<$<BOOL:${HS_WERROR}>:-Werror>)
    hastings_is_hardened(hardened)
    if(hardened AND NOT "KERNELS" IN_LIST ARGN)
        target_compile_options(${target} PRIVATE -fstack-protector-strong -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2)
    endif()
    target_link_options(${target} PRIVATE ${HS_LINKING})
    target_compile_definitions(${target} PRIVATE _POSIX_C_SOURCE=200809L)
    target_link_libraries(${target} PRIVATE OpenMP::OpenMP_C)
endfunction()

# The headers of a folder that others may include. Kernel sources of all folders share simd.h and
# vector_math.h, which are not installed.
function(hastings_public_headers folder result)
    file(GLOB_RECURSE headers CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR}
         ${PROJECT_SOURCE_DIR}/${folder}/*.h ${PROJECT_SOURCE_DIR}/${folder}/*.def)
    list(FILTER headers EXCLUDE REGEX "_internal\\.h$")
    set(${result} ${headers} PARENT_SCOPE)
endfunction()

function(hastings_include_root folder)
    set(root ${PROJECT_BINARY_DIR}/include-${folder})
    file(REMOVE_RECURSE ${root})
    hastings_public_headers(${folder} headers)
    foreach(header ${headers})
        get_filename_component(place ${root}/hastings/${header} DIRECTORY)
        file(MAKE_DIRECTORY ${place})
        file(CREATE_LINK ${PROJECT_SOURCE_DIR}/${header} ${root}/hastings/${header} SYMBOLIC)
    endforeach()
endfunction()

function(hastings_kernels folder layers)
    set(isas base)
    if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64|amd64")
        list(APPEND isas avx2 avx512)
    endif()
    set(flags_base "")
    set(flags_avx2 -mavx2 -mfma)
    set(flags_avx512 -mavx512f -mavx512dq -mavx512bw -mavx512vl -mfma -mprefer-vector-width=512)
    foreach(isa IN LISTS isas)
        foreach(type f32 f64)
            set(target ${folder}_${isa}_${type})
            add_library(${target} OBJECT ${ARGN})
            hastings_flags(${target} KERNELS)
            target_compile_options(${target} PRIVATE ${flags_${isa}} -O3 -ffp-contract=fast
                                   -Wno-psabi -Wno-pedantic -Wno-conversion ${HS_KERNEL_FLAGS})
            string(COMPARE EQUAL ${type} f64 is_f64)
            target_compile_definitions(${target} PRIVATE HS_KERNEL_ISA=${isa}
                                       HS_KERNEL_TYPE=${type} HS_KERNEL_F64=$<BOOL:${is_f64}>)
            foreach(layer ${folder} ${layers})
                target_include_directories(${target} PRIVATE ${PROJECT_BINARY_DIR}/include-${layer})
            endforeach()
            target_link_libraries(${target} PRIVATE PkgConfig::SLEEF)
            list(APPEND objects $<TARGET_OBJECTS:${target}>)
        endforeach()
    endforeach()
    set_property(GLOBAL PROPERTY ${folder}_kernel_objects "${objects}")
endfunction()

# Tests and benchmarks include internal headers as "folder/name_internal.h".
function(hastings_look_inside target)
    target_compile_options(${target} PRIVATE "SHELL:-iquote ${PROJECT_SOURCE_DIR}"
                           "SHELL:-iquote ${CMAKE_CURRENT_SOURCE_DIR}")
endfunction()

function(hastings_link_kernels target folder)
    get_property(objects GLOBAL PROPERTY ${folder}_kernel_objects)
    target_sources(${target} PRIVATE ${objects})
endfunction()

function(hastings_folder folder)
    cmake_parse_arguments(arg "" "" "LAYERS" ${ARGN})
    hastings_include_root(${folder})
    file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${folder}/*.c)
    list(FILTER sources EXCLUDE REGEX "/main\\.c$")
    if(NOT HS_WITH_NETCDF)
        list(FILTER sources EXCLUDE REGEX "/netcdf_[a-z]+\\.c$")
    endif()
    set(kernels ${sources})
    list(FILTER kernels INCLUDE REGEX "_kernels\\.c$")
    list(FILTER sources EXCLUDE REGEX "_kernels\\.c$")
    if(kernels)
        hastings_kernels(${folder} "${arg_LAYERS}" ${kernels})
    endif()
    add_library(hs_${folder} OBJECT ${sources})
    hastings_flags(hs_${folder})
    target_include_directories(hs_${folder} PUBLIC
        $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/include-${folder}>)
    foreach(layer ${arg_LAYERS})
        target_include_directories(hs_${folder} PRIVATE ${PROJECT_BINARY_DIR}/include-${layer})
    endforeach()
    target_compile_definitions(hs_${folder} PRIVATE HS_VERSION="${PROJECT_VERSION}"
                               HS_WITH_NETCDF=$<BOOL:${HS_WITH_NETCDF}>)
    target_link_libraries(hs_${folder} PRIVATE ${HS_LIBRARIES})
endfunction()

# Puts the objects of the folders into a library.
function(hastings_assemble target)
    foreach(folder ${ARGN})
        target_sources(${target} PRIVATE $<TARGET_OBJECTS:hs_${folder}>)
        hastings_link_kernels(${target} ${folder})
        target_include_directories(${target} PUBLIC
            $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/include-${folder}>)
    endforeach()
    target_include_directories(${target} PUBLIC $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/include-all>
                               $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
    target_link_libraries(${target} PRIVATE ${HS_LIBRARIES} OpenMP::OpenMP_C m)
    target_link_options(${target} PRIVATE ${HS_LINKING})
    set_target_properties(${target} PROPERTIES LINKER_LANGUAGE C)
endfunction()

# Gives a target that is installed the same run path before, besides the folders of its libraries. CMake would
# exchange it while installing, and until then end it in a colon: an empty entry, which is the current folder.
function(hastings_installed_rpath target)
    set_target_properties(${target} PROPERTIES BUILD_WITH_INSTALL_RPATH ON INSTALL_RPATH_USE_LINK_PATH ON
                          INSTALL_RPATH "${ARGN}")
endfunction()

function(hastings_library name)
    cmake_parse_arguments(arg "" "" "FOLDERS" ${ARGN})
    file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/include-all)
    file(CREATE_LINK ${PROJECT_SOURCE_DIR}/hastings.h ${PROJECT_BINARY_DIR}/include-all/hastings.h SYMBOLIC)
    add_library(${name})
    hastings_assemble(${name} ${arg_FOLDERS})
    set_target_properties(${name} PROPERTIES VERSION ${PROJECT_VERSION}
                          SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
    hastings_installed_rpath(${name})
    add_library(hastings::${name} ALIAS ${name})
    # Tests and benchmarks call private functions, which the shared library hides; a test looks at what it exports.
    foreach(kind STATIC:inside SHARED:exported)
        string(REPLACE ":" ";" kind ${kind})
        list(POP_FRONT kind type)
        get_target_property(own ${name} TYPE)
        if(own STREQUAL ${type}_LIBRARY)
            add_library(${name}_${kind} ALIAS ${name})
        else()
            add_library(${name}_${kind} ${type} EXCLUDE_FROM_ALL)
            hastings_assemble(${name}_${kind} ${arg_FOLDERS})
        endif()
    endforeach()
endfunction()

function(hastings_program name)
    cmake_parse_arguments(arg "" "" "FOLDERS" ${ARGN})
    add_library(${name}_program STATIC)
    foreach(folder ${arg_FOLDERS})
        target_link_libraries(hs_${folder} PRIVATE PkgConfig::JANSSON PkgConfig::CAIRO)
        target_compile_definitions(hs_${folder} PRIVATE
            HS_SOURCE_DIR="${PROJECT_SOURCE_DIR}" HS_DATA_DIR="${CMAKE_INSTALL_DATADIR}/${name}")
        target_sources(${name}_program PRIVATE $<TARGET_OBJECTS:hs_${folder}>)
        target_include_directories(${name}_program PUBLIC ${PROJECT_BINARY_DIR}/include-${folder})
    endforeach()
    set_target_properties(${name}_program PROPERTIES LINKER_LANGUAGE C)
    target_link_libraries(${name}_program PUBLIC PkgConfig::JANSSON PkgConfig::CAIRO m)
    add_executable(${name}_executable cli/main.c)
    hastings_flags(${name}_executable)
    target_link_libraries(${name}_executable PRIVATE ${name}_program ${name})
    set_target_properties(${name}_executable PROPERTIES OUTPUT_NAME ${name})
    set(run_path "")
    get_target_property(type ${name} TYPE)
    if(type STREQUAL SHARED_LIBRARY)
        file(RELATIVE_PATH to_library /x/${CMAKE_INSTALL_BINDIR} /x/${CMAKE_INSTALL_LIBDIR})
        set(run_path "$ORIGIN/${to_library}" "$ORIGIN") # where it is installed, and where it is built
    endif()
    hastings_installed_rpath(${name}_executable ${run_path})
    install(TARGETS ${name}_executable RUNTIME)
    install(DIRECTORY experiments/ DESTINATION ${CMAKE_INSTALL_DATADIR}/${name}/experiments
            FILES_MATCHING PATTERN "*.json")
    install(DIRECTORY data/ DESTINATION ${CMAKE_INSTALL_DATADIR}/${name}/data USE_SOURCE_PERMISSIONS)
endfunction()
