// A value that is made when first asked for, by code that may run Python.
//
// An initialized function-local static would not do: C++ makes the other threads wait for it, and they wait
// holding the GIL, which the maker may have let go of and needs back.
#pragma once

namespace stator::frontend {

// The GIL must be held. Two threads may both make the value; the first one made is the one that stays. `make`
// is a lambda, of which each has a value of its own.
template <typename Make>
auto& once(Make make) {
    using T = decltype(make());
    static T* made = nullptr;
    if (!made) [[unlikely]] {
        T* fresh = new T(make());
        if (made)
            delete fresh;
        else
            made = fresh;
    }
    return *made;
}

}  // namespace stator::frontend
