# stator_precompile(TARGET): with STATOR_PCH, the headers of the standard library and fmt that most sources include are parsed
# once for a target of many sources: a third of a source's compile time. The build without it is the one that notices a
# missing #include.
function(stator_precompile target)
    get_target_property(sources ${target} SOURCES)
    list(LENGTH sources count)
    if(STATOR_PCH AND count GREATER 8)
        target_precompile_headers(${target} PRIVATE
            "$<$<COMPILE_LANGUAGE:CXX>:${PROJECT_SOURCE_DIR}/cmake/precompiled.h>")
        # Of what it reads from there GCC 12 does not know that it is the system's, and warns of std::string's own code.
        set(own array-bounds restrict stringop-overflow stringop-overread maybe-uninitialized)
        list(TRANSFORM own PREPEND "-Wno-error=")
        target_compile_options(${target} PRIVATE ${own})
    endif()
endfunction()

# stator_unite(TARGET): the sources of a folder are compiled as one or two, in a quarter of the time: most of it goes into
# headers and what their templates become. What an anonymous namespace holds needs a name that is its own within the folder;
# sources with SKIP_UNITY_BUILD_INCLUSION stay apart. The first Python's build does not do so (without STATOR_UNITY): it is
# the one that notices a missing #include, and whose sources are edited.
function(stator_unite target)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
    # A class of one source that holds what its anonymous namespace has: other sources do not see either.
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-Wno-subobject-linkage>)
    get_target_property(sources ${target} SOURCES)
    foreach(source IN LISTS sources)
        file(RELATIVE_PATH path ${PROJECT_SOURCE_DIR} ${source})
        get_filename_component(folder ${path} DIRECTORY)
        string(REPLACE "/" "_" group ${folder})
        math(EXPR count_${group} "0${count_${group}} + 1")
        math(EXPR part "${count_${group}} / 16")
        set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${group}_${part})
    endforeach()
endfunction()

# stator_library(NAME SOURCES… [DEPENDS …]): one static library per folder, or an interface library while the folder
# has no sources yet.
function(stator_library name)
    cmake_parse_arguments(arg "" "" "SOURCES;DEPENDS" ${ARGN})
    if(arg_SOURCES)
        add_library(${name} STATIC ${arg_SOURCES})
        stator_precompile(${name})
        set(scope PUBLIC)
    else()
        add_library(${name} INTERFACE)
        set(scope INTERFACE)
    endif()
    target_link_libraries(${name} ${scope} stator_options ${arg_DEPENDS})
endfunction()

# stator_glob(VAR PATTERNS…): sources below the current folder, C and C++ alike.
macro(stator_glob out)
    file(GLOB_RECURSE ${out} CONFIGURE_DEPENDS LIST_DIRECTORIES false ${ARGN})
endmacro()

# Link flags of a shared product: nothing but the symbols of EXPORTS leaves it, what is unused is dropped, and its own
# definitions win over those of other libraries in the process (torch and Numba bring LLVMs of their own).
function(stator_product target exports)
    set(script ${CMAKE_CURRENT_BINARY_DIR}/${target}.map)
    file(CONFIGURE OUTPUT ${script} CONTENT "{ global: ${exports}; local: *; };\n" @ONLY)
    target_link_options(${target} PRIVATE
        -Wl,--version-script=${script} -Wl,-Bsymbolic -Wl,--gc-sections -Wl,--as-needed)
    if(STATOR_GLIBC_STUBS)
        # Exceptions unwind through the system's libgcc_s, which all libraries of the process share. Up to glibc 2.33
        # threads and the dynamic loader have libraries of their own, which later versions keep, empty.
        target_sources(${target} PRIVATE ${PROJECT_SOURCE_DIR}/packaging/compat.c)
        target_link_options(${target} PRIVATE -L${STATOR_GLIBC_STUBS} -static-libstdc++
            -Wl,--push-state,--no-as-needed -lpthread -ldl -Wl,--pop-state)
    endif()
    set_target_properties(${target} PROPERTIES
        LINK_DEPENDS ${script}
        LIBRARY_OUTPUT_DIRECTORY ${STATOR_PACKAGE_DIR}
        BUILD_RPATH "$ORIGIN" INSTALL_RPATH "$ORIGIN" BUILD_WITH_INSTALL_RPATH ON)
endfunction()

# The importable package of this build.
set(STATOR_PACKAGE_DIR ${PROJECT_BINARY_DIR}/python/stator)

# stator_link_whole(TARGET LIBRARIES…): links every object of our own static libraries, because tables may register
# themselves from objects nobody names; --gc-sections drops what is unused afterwards.
function(stator_link_whole target)
    foreach(library IN LISTS ARGN)
        get_target_property(type ${library} TYPE)
        if(type STREQUAL STATIC_LIBRARY)
            # The others name it, too, as a dependency; before 3.30 CMake refuses one library with two features.
            set_property(TARGET ${target} PROPERTY LINK_LIBRARY_OVERRIDE_${library} WHOLE_ARCHIVE)
            target_link_libraries(${target} PRIVATE ${library})
        else()
            target_link_libraries(${target} PRIVATE ${library})
        endif()
    endforeach()
endfunction()
