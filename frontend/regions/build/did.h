// What a part of the region builder says that was asked to do something.
//
// A call, a subscript or a comparison is offered to several handlers, one after the other, until one knows
// it. What must stay true of each answer:
//
// * **Declined**: it is another handler's business. No reason is given and no Value has changed. Pure
//   instructions that were written by then do no harm, since nothing reads them.
// * **Done**: the result is there.
// * **Failed**: this handler would have been the one, and cannot; Builder::reason() says why. Nobody else is
//   asked, but for Builder::first_known, which tries another way after Reason::RegionOp.
// * **Restart**: something was found out because of which all of the region is built again. It is kept for
// the
//   next attempt, this one ends as if it had failed, and there is no reason.
//
// Who returns what: a function that may decline, or that may find such a thing out while others wait to be
// asked, returns a Did. One that can only do it or fail returns bool (or a value, or -1 and nothing); there,
// failing may be Restart as well, and which of the two it was only Builder::build asks (Builder::learnt_). So
// a bool becomes a Did by itself, and a Did becomes a bool by done().
#pragma once

#include <concepts>
#include <cstdint>

namespace stator::frontend::regions {

class [[nodiscard]] Did {
  public:
    enum Answer : uint8_t { Declined, Done, Failed, Restart };

    constexpr Did(Answer a) : answer_(a) {}
    // Of a function that can only do it or fail. Not of what is merely convertible, as pointers are.
    template <std::same_as<bool> B>
    constexpr Did(B done) : answer_(done ? Done : Failed) {}

    constexpr bool done() const { return answer_ == Done; }
    constexpr bool handled() const { return answer_ != Declined; }  // nobody else is to be asked

  private:
    Answer answer_;
};

}  // namespace stator::frontend::regions
