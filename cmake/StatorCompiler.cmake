# Language level and flags. Numerics first: every result has the host's bits, so no contraction, no fast-math of any
# kind, and errno/trap semantics stay as IEEE and C have them.
set(CMAKE_C_STANDARD 17)
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
    set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "" FORCE)
endif()

# Line tables are enough for a profiler and a backtrace and keep objects small.
foreach(lang C CXX)
    set(CMAKE_${lang}_FLAGS_RELEASE "-O2 -DNDEBUG")
    set(CMAKE_${lang}_FLAGS_RELWITHDEBINFO "-O2 -g1 -DNDEBUG")
    set(CMAKE_${lang}_FLAGS_DEBUG "-Og -g")
endforeach()

find_program(STATOR_CCACHE ccache)
mark_as_advanced(STATOR_CCACHE)
if(STATOR_CCACHE)
    foreach(lang C CXX)
        if(NOT CMAKE_${lang}_COMPILER_LAUNCHER)
            set(CMAKE_${lang}_COMPILER_LAUNCHER ${STATOR_CCACHE})
        endif()
    endforeach()
endif()

# Settings every target of ours takes.
add_library(stator_options INTERFACE)
target_include_directories(stator_options INTERFACE ${PROJECT_SOURCE_DIR})
target_compile_options(stator_options INTERFACE
    # Plain structs are initialized up to the last member that differs from its default.
    -Wall -Wextra -Wno-missing-field-initializers -ffp-contract=off -ffunction-sections -fdata-sections
    # Binaries name files relative to the checkout, not to the machine they were built on.
    $<IF:$<CONFIG:Release>,-ffile-prefix-map,-fmacro-prefix-map>=${PROJECT_SOURCE_DIR}/=
    $<$<BOOL:${STATOR_WERROR}>:-Werror>)
target_compile_definitions(stator_options INTERFACE
    STATOR_VERSION="${PROJECT_VERSION}"
    $<$<CONFIG:Debug>:STATOR_DEBUG=1>)
if(STATOR_SANITIZE)
    # LLVM's archives carry no typeinfo UBSan's vptr check could use.
    set(sanitize -fsanitize=${STATOR_SANITIZE} -fno-sanitize=vptr -fno-sanitize-recover=undefined
        -fno-omit-frame-pointer)
    target_compile_options(stator_options INTERFACE ${sanitize})
    target_link_options(stator_options INTERFACE ${sanitize})
    target_compile_definitions(stator_options INTERFACE STATOR_SANITIZED=1)
endif()
