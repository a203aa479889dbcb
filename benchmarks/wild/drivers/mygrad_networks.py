"""Networks of tensors that know their slopes: a spiral told apart, and small pictures."""

import mygrad as mg
import numpy as np
from mygrad.nnet.activations import relu, tanh
from mygrad.nnet.initializers import glorot_uniform, he_normal
from mygrad.nnet.layers import conv_nd, max_pool
from mygrad.nnet.losses import softmax_crossentropy

PACKAGE = "mygrad"


class Dense:
    def __init__(self, inputs, outputs):
        self.weight = glorot_uniform(inputs, outputs)
        self.bias = mg.zeros((outputs,), dtype=np.float32)

    def __call__(self, x):
        return mg.matmul(x, self.weight) + self.bias

    @property
    def parameters(self):
        return (self.weight, self.bias)


class Convolution:
    def __init__(self, channels, filters, size):
        self.kernel = he_normal(filters, channels, size, size)
        self.bias = mg.zeros((1, filters, 1, 1), dtype=np.float32)

    def __call__(self, x):
        return conv_nd(x, self.kernel, stride=1, padding=1) + self.bias

    @property
    def parameters(self):
        return (self.kernel, self.bias)


class Momentum:
    def __init__(self, parameters, rate, keep=0.9):
        self.parameters, self.rate, self.keep = list(parameters), rate, keep
        self.speed = [np.zeros_like(p.data) for p in self.parameters]

    def step(self):
        for parameter, speed in zip(self.parameters, self.speed, strict=True):
            speed *= self.keep
            speed -= self.rate * parameter.grad
            parameter.data += speed


def prepare():
    rng = np.random.default_rng(27)
    t = np.sqrt(rng.random(150)) * 3.0
    arm = rng.integers(0, 3, 150)
    spiral = np.stack([t * np.cos(2 * t + 2.1 * arm), t * np.sin(2 * t + 2.1 * arm)], axis=1) / 3.0
    pictures = rng.normal(size=(48, 1, 8, 8)).astype(np.float32) * 0.3
    kind = rng.integers(0, 2, 48)
    for i in range(48):
        line = int(rng.integers(0, 8))
        if kind[i]:
            pictures[i, 0, line, :] += 1.0
        else:
            pictures[i, 0, :, line] += 1.0
    return spiral.astype(np.float32), arm, pictures, kind, rng


def drive(spiral, arm, pictures, kind, rng):
    np.random.seed(27)
    first, second, third = Dense(2, 24), Dense(24, 24), Dense(24, 3)
    learn = Momentum([p for layer in (first, second, third) for p in layer.parameters], 0.1)
    losses = []
    for _ in range(30):
        order = rng.permutation(len(arm))
        for batch in np.array_split(order, 6):
            out = third(tanh(second(tanh(first(spiral[batch])))))
            loss = softmax_crossentropy(out, arm[batch])
            loss = loss + 1e-4 * mg.sum(first.weight**2)
            loss.backward()
            learn.step()
            losses.append(float(loss.item()))
    with mg.no_autodiff:
        told = np.argmax(third(tanh(second(tanh(first(spiral))))).data, axis=1)
    filters, last = Convolution(1, 4, 3), Dense(64, 2)
    learn = Momentum([*filters.parameters, *last.parameters], 0.02)
    for _ in range(8):
        for batch in np.array_split(rng.permutation(len(kind)), 4):
            seen = max_pool(relu(filters(pictures[batch])), (2, 2), 2)
            loss = softmax_crossentropy(last(seen.reshape(len(batch), -1)), kind[batch])
            loss.backward()
            learn.step()
            losses.append(float(loss.item()))
    return losses, told, [p.data.copy() for p in (*first.parameters, *filters.parameters)]
