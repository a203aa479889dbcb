// What most sources include, parsed once for each target (STATOR_PCH). Nothing of ours, because our headers
// change, and not Python.h: sources that read CPython's structures (frontend/cpython/raw/raw.h) define
// Py_BUILD_CORE before it.
#pragma once
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>
