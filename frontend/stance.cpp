#include "frontend/stance.h"

namespace stator::frontend {

namespace {
Stance chosen = Stance::Default;
bool changed_hosts = false;

void decide() { current_stance = changed_hosts ? Stance::Eager : chosen; }
}  // namespace

Stance current_stance = Stance::Default;

void set_stance(Stance s) {
    chosen = s;
    decide();
}
Stance chosen_stance() { return chosen; }

void set_hosts_changed(bool changed) {
    changed_hosts = changed;
    decide();
}
bool hosts_are_changed() { return changed_hosts; }

}  // namespace stator::frontend
