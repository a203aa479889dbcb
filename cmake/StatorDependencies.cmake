# Third-party libraries. Each is optional at configure time unless a target that needs it has sources; what is missing
# is said in one line with the remedy.
set(THREADS_PREFER_PTHREAD_FLAG ON)
find_package(Threads REQUIRED)

find_package(fmt CONFIG REQUIRED)

# Numerics apart, nothing here may be asked of the machine stator later runs on: zlib, zstd and fmt go in statically,
# LLVM too, and libtbb travels beside libstator_core.so.
if(NOT STATOR_PREBUILT_CORE)
    find_package(TBB CONFIG REQUIRED)

    if(STATOR_LLVM_DIR)
        find_package(LLVM CONFIG REQUIRED PATHS ${STATOR_LLVM_DIR} ${STATOR_LLVM_DIR}/lib/cmake/llvm NO_DEFAULT_PATH)
    else()
        # By folder and not by version: LLVM's version file accepts only an exact major.minor.
        foreach(version 22 21 20 19)
            find_package(LLVM CONFIG QUIET PATHS /usr/lib/llvm-${version} NO_DEFAULT_PATH)
            if(LLVM_FOUND)
                break()
            endif()
        endforeach()
        if(NOT LLVM_FOUND)
            find_package(LLVM CONFIG QUIET)
        endif()
    endif()
    if(NOT LLVM_FOUND)
        message(FATAL_ERROR "stator needs LLVM 19, 20, 21 or 22 with headers and static libraries (Debian: llvm-22-dev). "
            "Run 'make setup', or point -DSTATOR_LLVM_DIR at LLVM's prefix.")
    endif()
    if(LLVM_VERSION_MAJOR LESS 19 OR LLVM_VERSION_MAJOR GREATER 22)
        message(FATAL_ERROR "stator supports LLVM 19 to 22, found ${LLVM_VERSION} in ${LLVM_DIR}.")
    endif()
    message(STATUS "stator: LLVM ${LLVM_PACKAGE_VERSION} from ${LLVM_DIR}")
    set(components core support analysis passes irreader orcjit orcdebugging orctargetprocess native)
    llvm_map_components_to_libnames(STATOR_LLVM_LIBS ${components})

    # What LLVM's archives ask for beyond themselves: compression statically (libstator_codegen.so must load on machines
    # without the same versions), Z3 not at all (only clang's analyzer calls that code).
    find_library(STATOR_LIBZ_A libz.a)
    find_library(STATOR_LIBZSTD_A libzstd.a)
    mark_as_advanced(STATOR_LIBZ_A STATOR_LIBZSTD_A)
    get_target_property(libs LLVMSupport INTERFACE_LINK_LIBRARIES)
    list(FILTER libs EXCLUDE REGEX "libz3|Z3::")
    if(STATOR_LIBZ_A)
        list(TRANSFORM libs REPLACE "^ZLIB::ZLIB$" "${STATOR_LIBZ_A}")
    endif()
    if(STATOR_LIBZSTD_A)
        list(TRANSFORM libs REPLACE "^zstd::libzstd_shared$" "${STATOR_LIBZSTD_A}")
    endif()
    set_target_properties(LLVMSupport PROPERTIES INTERFACE_LINK_LIBRARIES "${libs}")

    add_library(stator_llvm INTERFACE)
    target_include_directories(stator_llvm SYSTEM INTERFACE ${LLVM_INCLUDE_DIRS})
    separate_arguments(definitions NATIVE_COMMAND "${LLVM_DEFINITIONS}")
    target_compile_options(stator_llvm INTERFACE ${definitions})
    target_link_libraries(stator_llvm INTERFACE ${STATOR_LLVM_LIBS})
    if(NOT LLVM_ENABLE_RTTI)
        target_compile_options(stator_llvm INTERFACE -fno-rtti)
    endif()
endif()

# lld links LLVM's archives several times faster than bfd. GCC finds it by name in the folders of -B.
find_program(STATOR_LLD ld.lld HINTS ${LLVM_TOOLS_BINARY_DIR} /usr/lib/llvm-22/bin /usr/lib/llvm-21/bin
    /usr/lib/llvm-20/bin /usr/lib/llvm-19/bin)
mark_as_advanced(STATOR_LLD)
if(STATOR_LLD)
    get_filename_component(dir ${STATOR_LLD} DIRECTORY)
    target_link_options(stator_options INTERFACE -B${dir} -fuse-ld=lld)
endif()

if(STATOR_TESTS)
    find_package(GTest CONFIG QUIET)
    if(NOT GTest_FOUND)
        message(STATUS "stator: GoogleTest not found (Debian: libgtest-dev), unit tests are not built")
        set(STATOR_TESTS OFF)
    endif()
endif()
