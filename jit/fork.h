// What happens to this library at fork().
#pragma once

namespace stator::jit {

// Registers the handlers, once. Called before the first thread is started or the first lock matters.
void handle_fork();

}  // namespace stator::jit
