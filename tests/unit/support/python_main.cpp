// main() for unit tests that embed Python. The interpreter starts as the one the build was made for, virtual
// environment included, so that NumPy is found without any variable being set.
#include <Python.h>

#include <gtest/gtest.h>

int main(int argc, char** argv) {
    testing::InitGoogleTest(&argc, argv);

    PyConfig config;
    PyConfig_InitPythonConfig(&config);
    config.parse_argv = 0;
    PyStatus status = PyConfig_SetBytesString(&config, &config.program_name, STATOR_TEST_PYTHON);
    if (!PyStatus_Exception(status)) status = Py_InitializeFromConfig(&config);
    PyConfig_Clear(&config);
    if (PyStatus_Exception(status)) Py_ExitStatusException(status);

    int result = RUN_ALL_TESTS();
    return Py_FinalizeEx() < 0 ? 120 : result;
}
