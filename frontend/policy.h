// Thresholds: what decides whether and when something is recorded, built, served, timed, given up or looked
// at again. Each is a row of policy.def.
//
// STATOR_TUNE sets them while stator is imported, before anything asks for them, and nothing does so later:
// they are constants of the process, and to read one is a load.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace stator::frontend {

struct Policy {
#define GROUP(id, title)
#define POLICY(name, type, fallback, unit, least, most, group, reason) type name = fallback;
#include "frontend/policy.def"
#undef GROUP
#undef POLICY
};

// Written by the import alone. Hidden, because the compiler would else ask for its address each time.
[[gnu::visibility("hidden")]] extern Policy process_policy;
inline const Policy& policy() { return process_policy; }

struct PolicyRow {
    std::string_view name, unit, group, reason;  // `group`: its title
    int64_t fallback, least, most;
    int64_t (*value)(const Policy&);
    void (*set)(Policy&, int64_t);
};
std::span<const PolicyRow> policy_rows();

// Sets what a text like "hot_work=100,header_regions=2" names. Each part that is not right leaves its
// threshold as it was and gives one line, which says what was expected and what was found.
std::vector<std::string> tune(Policy& policy, std::string_view text);

}  // namespace stator::frontend
