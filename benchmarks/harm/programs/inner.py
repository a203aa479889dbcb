"""Functions made anew in each call, decorated there: closures, lambdas, factories, methods of local classes."""

import numpy as np

from . import whole


def make(jit):
    x = np.linspace(0.0, 1.0, 50)

    @whole
    def lambda_each(k):
        f = jit(lambda t: t * 3 - k)
        return f(x) + f(x)

    @whole
    def loop_each(k):
        @jit
        def area(y):
            total = 0.0
            for i in range(1, len(y)):
                total += (y[i] + y[i - 1]) * k
            return total

        return area(x)

    def scaled(factor):
        @jit
        def apply(t):
            return np.sqrt(t + factor)

        return apply

    @whole
    def factory(k):
        return scaled(1.0 + k)(x), scaled(2.0)(x)

    @whole
    def local_class(k):
        class Filter:
            gain = 0.5

            @jit
            def step(self, t):
                self.last = t * self.gain + k
                return self.last

        f = Filter()
        return f.step(x) + f.step(x)

    @whole
    def executed(k):
        space = {"np": np, "jit": jit}
        exec("@jit\ndef f(t):\n    return np.abs(t - 0.5).sum()\n", space)
        return space["f"](x)

    def with_helper(t, k):
        def helper(u, j):
            return u * j + k

        out = t
        for j in range(4):
            out = helper(out, j)
        return out

    def key_lambdas(items):
        return sorted(items, key=lambda p: (p[1], -p[0]))[:5], list(map(lambda p: p[0] + 1, items))

    items = [(k, k * 7919 % 101) for k in range(150)]
    small = lambda k: (float(k % 10),)
    return [
        ("inner_lambda", lambda_each, small),
        ("inner_loop", loop_each, small),
        ("inner_factory", factory, small),
        ("inner_class", local_class, small),
        ("inner_exec", executed, small),
        ("inner_helper", with_helper, lambda k: (x, float(k % 10))),
        ("inner_keys", key_lambdas, lambda k: (items,)),
    ]
