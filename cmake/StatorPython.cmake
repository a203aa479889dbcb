# One extension for each Python of STATOR_PYTHONS. Each interpreter is asked for its own headers, so no find module is
# limited to one version, and NumPy and pybind11 are those installed for that interpreter.

# What the build needs to know of one interpreter, as CMake text.
set(STATOR_PYTHON_QUERY [[
import os, sys, sysconfig
def say(name, value):
    print(f'set(PY_{name} "{value}")')
say("VERSION", "%d.%d.%d" % sys.version_info[:3])
say("MINOR", sys.version_info[1])
say("TAG", "py%d%d%s" % (*sys.version_info[:2], getattr(sys, "abiflags", "")))
say("ABI", sysconfig.get_config_var("EXT_SUFFIX"))
say("INCLUDE", sysconfig.get_path("include"))
libdir = sysconfig.get_config_var("LIBDIR") or ""
multiarch = sysconfig.get_config_var("MULTIARCH") or ""
names = [sysconfig.get_config_var("LDLIBRARY"), sysconfig.get_config_var("LIBRARY")]
dirs = [libdir, os.path.join(libdir, multiarch), sysconfig.get_config_var("LIBPL") or ""]
found = [os.path.join(d, n) for n in names if n for d in dirs if os.path.isfile(os.path.join(d, n))]
say("LIBRARY", found[0] if found else "")
say("SYSLIBS", " ".join(filter(None, map(sysconfig.get_config_var, ("LIBS", "SYSLIBS")))))
say("LIBDIR", libdir)
for module, attribute in (("numpy", "get_include"), ("pybind11", "get_include")):
    try:
        m = __import__(module)
        say(module.upper(), getattr(m, attribute)())
        say(module.upper() + "_VERSION", m.__version__)
    except ImportError:
        say(module.upper(), "")
        say(module.upper() + "_VERSION", "")
]])

# stator_query_python(EXE): sets PY_* in the caller, PY_OK to whether an extension can be built for it.
macro(stator_query_python exe)
    set(PY_OK FALSE)
    execute_process(COMMAND ${exe} -c "${STATOR_PYTHON_QUERY}"
        OUTPUT_VARIABLE py_answer ERROR_VARIABLE py_error RESULT_VARIABLE py_status)
    if(NOT py_status EQUAL 0)
        message(WARNING "stator: ${exe} does not run, no extension for it: ${py_error}")
    else()
        cmake_language(EVAL CODE "${py_answer}")
        set(py_missing "")
        if(NOT EXISTS ${PY_INCLUDE}/Python.h)
            list(APPEND py_missing "Python.h (Debian: python3-dev)")
        endif()
        if(NOT PY_NUMPY)
            list(APPEND py_missing "numpy>=2.0")
        elseif(PY_NUMPY_VERSION VERSION_LESS 2.0)
            list(APPEND py_missing "numpy>=2.0 (it has ${PY_NUMPY_VERSION})")
        endif()
        if(NOT PY_PYBIND11)
            list(APPEND py_missing "pybind11")
        endif()
        if(PY_VERSION VERSION_LESS 3.11 OR PY_VERSION VERSION_GREATER_EQUAL 3.16)
            message(WARNING "stator: ${exe} is Python ${PY_VERSION}; stator supports 3.11 to 3.15")
        elseif(py_missing)
            list(JOIN py_missing ", " py_missing)
            message(WARNING "stator: no extension for ${exe}, which lacks ${py_missing}; 'make setup' prepares .venv")
        else()
            set(PY_OK TRUE)
        endif()
    endif()
endmacro()

set(pythons ${STATOR_PYTHONS})
if(NOT pythons)
    if(DEFINED Python_EXECUTABLE)
        set(pythons ${Python_EXECUTABLE})
    elseif(EXISTS ${PROJECT_SOURCE_DIR}/.venv/bin/python)
        set(pythons ${PROJECT_SOURCE_DIR}/.venv/bin/python)
    else()
        find_program(STATOR_PYTHON3 python3)
        set(pythons ${STATOR_PYTHON3})
    endif()
endif()

# One entry for each interpreter that can be built for. A second one with the same ABI adds nothing.
set(STATOR_PYTHON_TAGS "")
foreach(exe IN LISTS pythons)
    stator_query_python(${exe})
    if(NOT PY_OK OR PY_TAG IN_LIST STATOR_PYTHON_TAGS)
        continue()
    endif()
    message(STATUS "stator: ${PY_TAG} = ${exe} (Python ${PY_VERSION}, NumPy ${PY_NUMPY_VERSION}, "
        "pybind11 ${PY_PYBIND11_VERSION})")
    list(APPEND STATOR_PYTHON_TAGS ${PY_TAG})
    set(STATOR_${PY_TAG}_EXECUTABLE ${exe})
    set(STATOR_${PY_TAG}_ABI ${PY_ABI})

    add_library(stator_python_${PY_TAG} INTERFACE)
    target_include_directories(stator_python_${PY_TAG} SYSTEM INTERFACE ${PY_INCLUDE} ${PY_INCLUDE}/internal
        ${PY_NUMPY})
    target_compile_definitions(stator_python_${PY_TAG} INTERFACE
        NPY_NO_DEPRECATED_API=NPY_2_0_API_VERSION NPY_TARGET_VERSION=NPY_2_0_API_VERSION)

    add_library(stator_pybind11_${PY_TAG} INTERFACE)
    target_include_directories(stator_pybind11_${PY_TAG} SYSTEM INTERFACE ${PY_PYBIND11})
    target_link_libraries(stator_pybind11_${PY_TAG} INTERFACE stator_python_${PY_TAG})

    # For tests that embed the interpreter; missing on some builds of Python, then those tests are left out.
    if(PY_LIBRARY)
        add_library(stator_libpython_${PY_TAG} INTERFACE)
        target_link_libraries(stator_libpython_${PY_TAG} INTERFACE stator_python_${PY_TAG} ${PY_LIBRARY}
            Threads::Threads ${CMAKE_DL_LIBS} m)
        if(PY_LIBRARY MATCHES "\\.a$")
            separate_arguments(syslibs NATIVE_COMMAND "${PY_SYSLIBS}")
            target_link_libraries(stator_libpython_${PY_TAG} INTERFACE ${syslibs})
            target_link_options(stator_libpython_${PY_TAG} INTERFACE -rdynamic)
        endif()
    endif()
endforeach()

# stator_python_library(NAME SOURCES… DEPENDS…): NAME_<tag> for each Python, and NAME as an alias of the first one.
function(stator_python_library name)
    cmake_parse_arguments(arg "" "" "SOURCES;DEPENDS;PYTHON_DEPENDS" ${ARGN})
    foreach(tag IN LISTS STATOR_PYTHON_TAGS)
        set(depends ${arg_DEPENDS} stator_python_${tag})
        foreach(library IN LISTS arg_PYTHON_DEPENDS)
            list(APPEND depends ${library}_${tag})
        endforeach()
        stator_library(${name}_${tag} SOURCES ${arg_SOURCES} DEPENDS ${depends})
        if(STATOR_UNITY OR TARGET ${name})
            stator_unite(${name}_${tag})
        endif()
        if(TARGET ${name})
            # Only the first Python belongs to `all`; the others are built by name (stator_ext_py312).
            set_target_properties(${name}_${tag} PROPERTIES EXCLUDE_FROM_ALL TRUE)
        else()
            add_library(${name} ALIAS ${name}_${tag})
        endif()
    endforeach()
endfunction()
