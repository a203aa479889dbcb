"""Functions of 1 to 15 µs on arrays of a few elements: filters, rotations, geometry."""

import math

import numpy as np


def quaternion_product(p, q):
    return np.array(
        [
            p[0] * q[0] - p[1] * q[1] - p[2] * q[2] - p[3] * q[3],
            p[0] * q[1] + p[1] * q[0] + p[2] * q[3] - p[3] * q[2],
            p[0] * q[2] - p[1] * q[3] + p[2] * q[0] + p[3] * q[1],
            p[0] * q[3] + p[1] * q[2] - p[2] * q[1] + p[3] * q[0],
        ]
    )


def rotate(q, v):
    w, u = q[0], q[1:]
    return v + 2.0 * np.cross(u, np.cross(u, v) + w * v)


def normalize(v):
    n = np.linalg.norm(v)
    return v / n if n else v


def kalman_predict(x, p, f, q):
    return f @ x, f @ p @ f.T + q


def angle_between(a, b):
    return math.acos(max(-1.0, min(1.0, float(a @ b))))


def first_order(y, x, alpha):
    return y + alpha * (x - y)


def inside(box, point):
    return bool(np.all(point >= box[0]) and np.all(point <= box[1]))


def triangle_area(a, b, c):
    return 0.5 * abs((b[0] - a[0]) * (c[1] - a[1]) - (c[0] - a[0]) * (b[1] - a[1]))


def rotation(theta):
    c, s = np.cos(theta), np.sin(theta)
    return np.array([[c, -s], [s, c]])


def clamp(x, low, high):
    return low if x < low else high if x > high else x


def weighted_mean(x, w):
    return (x * w).sum() / w.sum()


def horner(c, x):
    r = c[-1]
    for k in range(len(c) - 2, -1, -1):
        r = r * x + c[k]
    return r


def soft(x):
    e = np.exp(x - x.max())
    return e / e.sum()


def homogeneous(m, p):
    return (m @ np.append(p, 1.0))[:3]


def statistics_of(x):
    return x.mean(), x.std(), x.min(), x.max()


def first_element(x):
    return x[0]


def make(jit):
    rng = np.random.default_rng(5)
    q, p = rng.random(4), rng.random(4)
    u, v = rng.random(3), rng.random(3)
    f, cov = np.array([[1.0, 0.1], [0.0, 1.0]]), np.eye(2)
    ten, fifty, box = rng.random(10), rng.random(50), np.array([[0.0, 0.0, 0.0], [1.0, 1.0, 1.0]])
    m = np.eye(4)
    return [
        ("small_quaternion", quaternion_product, lambda k: (p, q)),
        ("small_rotate", rotate, lambda k: (q, v)),
        ("small_normalize", normalize, lambda k: (v,)),
        ("small_kalman", kalman_predict, lambda k: (u[:2], cov, f, cov)),
        ("small_angle", angle_between, lambda k: (u, v)),
        ("small_filter", first_order, lambda k: (u, v, 0.1)),
        ("small_filter_floats", first_order, lambda k: (0.5, k * 0.1, 0.1)),
        ("small_inside", inside, lambda k: (box, v)),
        ("small_triangle", triangle_area, lambda k: (u, v, p)),
        ("small_rotation", rotation, lambda k: (0.1 * (k % 10),)),
        ("small_clamp", clamp, lambda k: (k % 7, 1, 5)),
        ("small_mean", weighted_mean, lambda k: (ten, ten)),
        ("small_horner", horner, lambda k: (ten, 0.7)),
        ("small_softmax", soft, lambda k: (fifty,)),
        ("small_homogeneous", homogeneous, lambda k: (m, v)),
        ("small_statistics", statistics_of, lambda k: (fifty,)),
        ("small_first", first_element, lambda k: (ten,)),
    ]
