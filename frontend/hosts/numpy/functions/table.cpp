#include "frontend/hosts/numpy/functions/table.h"

#include <algorithm>
#include <unordered_map>

namespace stator::frontend::numpy {

Parameters parse_parameters(std::string_view text) {
    Parameters out;
    bool keyword_only = false;
    while (!text.empty()) {
        const size_t end = std::min(text.find(' '), text.size());
        std::string_view word = text.substr(0, end);
        text.remove_prefix(std::min(end + 1, text.size()));
        if (word == "/") {
            for (Parameter& p : out) p.by_name = false;
        } else if (word == "*") {
            keyword_only = true;
        } else if (word.starts_with('*')) {
            out.push_back({std::string(word.substr(1)), false, true, false, true});
            keyword_only = true;
        } else {
            const bool optional = word.ends_with('=');
            if (optional) word.remove_suffix(1);
            out.push_back({std::string(word), optional, !keyword_only, true});
        }
    }
    return out;
}

const Parameters& parameters_of(const Function& f) {
    static auto* all = new std::unordered_map<const Function*, Parameters>;
    auto it = all->find(&f);
    if (it == all->end()) it = all->emplace(&f, parse_parameters(f.parameters)).first;
    return it->second;
}

}  // namespace stator::frontend::numpy
