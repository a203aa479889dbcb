"""Calls of torch, a line each: what a function of the named tensors returns (or does, where it says `return`).

Names are arguments, made by `arguments.py`: x, y, z are float32 of shape (n, 6); p is like x and positive, o in (0, 1);
v is a float32 vector of 6, r one of n; d, e are float64, h, g float16; i, j int64, k int32, u uint8, m bool; s a 0-d
float32; q, w are (6, 6) and (6, 6); c is (2, n, 6); img is (2, 3, n, n); idx an int64 vector of row numbers.
"""

POINTWISE = """
x + y
x - y
x * y
x / y
x + 2
x * 2.5
2 - x
1.0 / x
x / 3
-x
+x
abs(x)
x + v
x * s
x + s
x - i
i + j
i * 3
i - j
i / j
i + 0.5
k + i
k * 2
u + u
u * 2
u + k
u / 2
m + m
m * x
m + i
m & (x > 0)
m | (x > 0)
m ^ (x > 0)
~m
~i
i & j
i | 7
i ^ j
i << 2
i >> 1
d + x
d * e
d / 3
h + g
h * g
h / g
h * 3
h - g
h + x
-h
x == y
x != y
x < y
x <= 0.5
x > y
x >= y
i == j
i < 3
u > 2
h < g
m == m
x // 2
x // y
i // 3
i % 4
x % 3
x % y
x ** 2
x ** 3
p ** 0.5
p ** 1.5
p ** y
2 ** x
i ** 2
torch.add(x, y)
torch.add(x, y, alpha=2)
torch.sub(x, y, alpha=0.5)
x.add(y)
x.sub(1)
x.mul(y)
torch.mul(x, 2)
torch.div(x, y)
torch.div(x, y, rounding_mode='floor')
torch.div(x, y, rounding_mode='trunc')
x.true_divide(3)
torch.floor_divide(x, 2)
torch.remainder(x, y)
torch.fmod(x, y)
torch.neg(x)
x.abs()
torch.square(x)
torch.sqrt(p)
torch.rsqrt(p)
torch.reciprocal(x)
torch.pow(x, 2)
torch.pow(p, -0.5)
torch.exp(x)
x.exp()
torch.exp2(x)
torch.expm1(x)
torch.log(p)
torch.log2(p)
torch.log10(p)
torch.log1p(p)
torch.sin(x)
torch.cos(x)
torch.tan(x)
torch.asin(o)
torch.acos(o)
torch.atan(x)
torch.atan2(x, y)
torch.sinh(x)
torch.cosh(x)
torch.tanh(x)
torch.asinh(x)
torch.acosh(p + 1)
torch.atanh(o)
torch.erf(x)
torch.erfc(x)
torch.erfinv(o)
torch.lgamma(p)
torch.digamma(p)
torch.sigmoid(x)
torch.logit(o)
torch.floor(x)
torch.ceil(x)
torch.round(x)
torch.round(x, decimals=1)
torch.trunc(x)
torch.frac(x)
torch.sign(x)
torch.sgn(x)
torch.signbit(x)
torch.isnan(x)
torch.isinf(x)
torch.isfinite(x)
torch.isclose(x, y)
torch.maximum(x, y)
torch.minimum(x, y)
torch.fmax(x, y)
torch.fmin(x, y)
torch.clamp(x, -0.5, 0.5)
x.clamp(min=0)
torch.clamp(x, y, z)
torch.copysign(x, y)
torch.hypot(x, y)
torch.lerp(x, y, 0.3)
torch.addcmul(x, y, z)
torch.addcdiv(x, y, p, value=0.5)
torch.where(m, x, y)
torch.where(x > 0, x, 0.0)
x.masked_fill(m, 0.5)
torch.nan_to_num(x)
torch.logical_and(m, x > 0)
torch.logical_or(m, i > 0)
torch.logical_not(m)
torch.logical_xor(m, x > 0)
torch.bitwise_and(i, j)
torch.bitwise_not(k)
torch.logaddexp(x, y)
torch.xlogy(x, p)
torch.sinc(x)
torch.i0(x)
torch.special.expit(x)
torch.special.erfcx(x)
torch.special.xlog1py(x, p)
torch.heaviside(x, y)
torch.deg2rad(x)
x.float()
i.float()
x.double()
h.float()
x.half()
m.float()
i.to(torch.int32)
x.to(torch.float64)
x.to(torch.int64)
x.long()
k.long()
x.bool()
x.type_as(d)
x.clone()
(x * 2 + y) * (x - y) / 3
torch.where(x > 0, x * 2, y - 1) * p
x.bfloat16() * 2 + y.bfloat16()
h.bfloat16() + h
"""

FUNCTIONAL = """
F.relu(x)
torch.relu(x)
F.relu6(x)
F.elu(x)
F.selu(x)
F.celu(x)
F.leaky_relu(x, 0.1)
F.gelu(x)
F.gelu(x, approximate='tanh')
F.silu(x)
F.mish(x)
F.softplus(x)
F.softsign(x)
F.hardtanh(x)
F.hardswish(x)
F.hardsigmoid(x)
F.logsigmoid(x)
F.tanhshrink(x)
F.softshrink(x)
F.hardshrink(x)
F.threshold(x, 0.1, 20.0)
F.glu(x)
F.softmax(x, dim=-1)
torch.softmax(x, 0)
F.log_softmax(x, dim=-1)
F.softmin(x, dim=-1)
F.layer_norm(x, (6,), v, v)
F.layer_norm(x, (6,))
F.rms_norm(x, (6,))
F.group_norm(img, 3)
F.normalize(x, dim=-1)
F.linear(x, w)
F.linear(x, w, v)
F.embedding(idx, w)
F.one_hot(idx, 6)
F.pad(x, (1, 2))
F.conv2d(img, torch.ones(4, 3, 1, 1))
F.avg_pool2d(img, 2)
F.max_pool2d(img, 2)
F.adaptive_avg_pool2d(img, 1)
F.interpolate(img, scale_factor=2)
F.unfold(img, 2)
F.cosine_similarity(x, y)
F.pairwise_distance(x, y)
F.mse_loss(x, y)
F.l1_loss(x, y)
F.smooth_l1_loss(x, y)
F.huber_loss(x, y)
F.cross_entropy(x, idx)
F.nll_loss(F.log_softmax(x, 1), idx)
F.binary_cross_entropy(o, o)
F.binary_cross_entropy_with_logits(x, o)
F.kl_div(F.log_softmax(x, 1), o)
F.scaled_dot_product_attention(c, c, c)
F.scaled_dot_product_attention(c, c, c, is_causal=True)
F.pixel_shuffle(img.repeat(1, 4, 1, 1), 2)
F.dropout(x, 0.5, training=False)
"""

REDUCTIONS = """
x.sum()
x.sum(0)
x.sum(dim=1)
x.sum(dim=-1, keepdim=True)
torch.sum(c, (0, 2))
i.sum()
m.sum()
x.mean()
x.mean(-1)
x.mean(-1, keepdim=True)
x.prod()
x.prod(1)
x.std()
x.std(1)
x.var(-1, unbiased=False)
torch.var_mean(x, 1)
x.max()
x.min()
x.max(1)
x.min(dim=0)
torch.amax(x, 1)
torch.amin(x, (0, 1))
torch.aminmax(x)
x.argmax()
x.argmax(1)
torch.argmin(x, 0)
m.all()
m.any()
m.any(1)
torch.count_nonzero(m)
x.norm()
torch.linalg.vector_norm(x)
torch.linalg.norm(x, dim=1)
torch.logsumexp(x, 1)
torch.cumsum(x, 0)
torch.cumprod(x, 1)
torch.cummax(x, 0)
torch.median(x)
torch.median(x, 1)
torch.quantile(x, 0.5)
torch.topk(x, 2)
torch.sort(x, 1)
torch.argsort(x)
torch.kthvalue(x, 2)
torch.nansum(x)
torch.diff(x)
torch.dist(x, y)
torch.equal(x, y)
torch.allclose(x, y)
torch.bincount(idx)
torch.searchsorted(v.sort().values, x)
torch.trapezoid(x)
(x * y).sum(-1)
((x - x.mean(-1, keepdim=True)) ** 2).mean(-1)
"""

VIEWS = """
x[0]
x[-1]
x[1:]
x[:, 1:3]
x[..., 0]
x[None]
x[:, None, :]
x[::2]
x[1:, ::2]
x[idx]
x[m]
x[:, [0, 2]]
x[0, 1]
x.T
x.mT
x.t()
x.transpose(0, 1)
x.swapaxes(0, 1)
c.permute(2, 0, 1)
torch.permute(c, (1, 2, 0))
x.view(-1)
x.view(-1, 3)
x.view(x.size(0), 2, 3)
x.reshape(-1, 2)
x.reshape(x.shape[0] * 6)
x.t().reshape(-1)
c.flatten()
c.flatten(1)
x.flatten(0, 1)
x.unsqueeze(0)
x.unsqueeze(-1)
x.unsqueeze(1).squeeze(1)
x[:1].squeeze(0)
x.squeeze()
v.expand(3, 6)
v.expand(x.size(0), -1)
v.expand_as(x)
torch.broadcast_to(v, (4, 6))
x.select(1, 2)
x.narrow(1, 1, 3)
a = x.split(2); return a, a[0] * 1
a, b = x.split([2, 4], dim=1); return a * 2, b
a, b = x.chunk(2, dim=1); return a * b
a = torch.chunk(x, 3, 1); return a, a[2] + 1
a = x.unbind(1); return a[0] * a[1]
x.diagonal()
torch.diag(w)
x.movedim(0, 1)
x.unflatten(1, (2, 3))
x.contiguous()
x.t().contiguous()
x.detach()
x.as_strided((2, 3), (6, 1))
torch.atleast_3d(x)
torch.cat([x, y])
torch.cat((x, y), dim=1)
torch.stack([x, y])
torch.vstack((x, y))
torch.hstack((x, y))
torch.flip(x, (0,))
torch.roll(x, 1, 0)
torch.rot90(x)
torch.tril(w)
torch.triu(w, 1)
x.repeat(2, 1)
x.repeat_interleave(2, dim=0)
torch.tile(x, (2, 2))
torch.gather(x, 1, i % 6)
torch.index_select(x, 0, idx)
torch.take(x, idx)
torch.take_along_dim(x, i % 6, 1)
torch.masked_select(x, m)
torch.nonzero(m)
torch.scatter(x, 1, i % 6, y)
x.index_add(0, idx, y)
a, b = torch.meshgrid(r, v, indexing='ij'); return a * b, a
torch.zeros_like(x)
torch.ones_like(x) * x
torch.full_like(x, 3.0)
x.new_zeros(3, 4)
torch.arange(x.size(0)) * 2
torch.zeros(x.shape) + x
torch.eye(6) @ w
x.view(x.shape[0], 3, 2).transpose(1, 2) * 2
(x[1:] - x[:-1]) / 2
x.unsqueeze(1) * x.unsqueeze(0)
a = x[1:]; b = a[:, ::2]; return a, b, x
"""

MATRICES = """
x @ w
torch.matmul(x, w)
torch.mm(x, w)
x.mv(v)
torch.bmm(c, c.transpose(1, 2))
torch.dot(v, v)
torch.outer(r, v)
torch.addmm(x, x, w)
torch.addmv(r, x, v)
torch.baddbmm(c @ w, c, w.expand(2, 6, 6))
torch.einsum('ij,jk->ik', x, w)
torch.einsum('bij,bkj->bik', c, c)
torch.tensordot(x, w, dims=1)
torch.inner(x, x)
torch.kron(w, v)
torch.linalg.det(q)
torch.linalg.inv(q)
torch.linalg.solve(q, v)
torch.linalg.cholesky(q @ q.T + 6 * torch.eye(6))
torch.linalg.matrix_power(q, 2)
torch.linalg.svdvals(q)
torch.trace(w)
torch.cdist(x, y)
torch.cross(x[:, :3], y[:, :3], dim=1)
torch.fft.rfft(x).abs()
torch.softmax(c @ c.transpose(-2, -1) / 2.0, dim=-1) @ c
"""

IN_PLACE = """
x.add_(y)
x.add_(1)
x.sub_(y)
x.mul_(2)
x.mul_(v)
x.div_(3)
x.neg_()
x.abs_()
x.sqrt_()
x.exp_()
x.tanh_()
x.sigmoid_()
x.relu_()
x.clamp_(-0.5, 0.5)
x.zero_()
x.fill_(2.5)
x.copy_(y)
x.copy_(i)
x.masked_fill_(m, 0.0)
x.add_(y, alpha=2)
x.addcmul_(y, z)
x.lerp_(y, 0.5)
x.pow_(2)
x.floor_()
x.clamp_(min=0).mul_(2)
i.add_(j)
i.mul_(3)
h.add_(g)
u.add_(1)
x[1:].sub_(x[:-1]); return x
x.add_(x[0]); return x
x += y; return x
x -= 1; return x
x *= v; return x
x /= 2; return x
i //= 2; return i
m &= x > 0; return m
x[0] = 1.0; return x
x[1:] = y[1:]; return x
x[:, 2] = r; return x
x[...] = y * 2; return x
x[:, ::2] *= 3; return x
x[1:] += y[:-1]; return x
x[m] = 0.0; return x
x[idx] = 2.0; return x
a = x[1:]; a += 1; return x, a
a = x.view(-1); a.mul_(2); return x.sum()
a = x.t(); a.add_(1); return a
t = x + y; t += 1; return t
t = x * 2; t.mul_(3).sub_(y); return t
t = torch.zeros_like(x); t[1:] = y[1:]; return t
t = x.clone(); t[0] = v; return t
x.add_(1); y.add_(x); return x * y
F.relu(x, inplace=True)
x.t_()
x.unsqueeze_(0)
x.uniform_(0.0, 0.0)
x.random_(0, 1)
"""

ERRORS = """
x + torch.zeros(5)
x @ x
x.view(5, -1)
torch.cat([x, r])
x[100]
x.add_(torch.zeros(2, 1, 1))
i.add_(x)
u + 300
torch.softmax(x, 7)
i.div_(2)
"""

GROUPS = {
    "pointwise": POINTWISE,
    "functional": FUNCTIONAL,
    "reductions": REDUCTIONS,
    "views": VIEWS,
    "matrices": MATRICES,
    "in_place": IN_PLACE,
}


def lines(text: str) -> list[str]:
    return [line for line in text.strip().splitlines() if line]


def lines_of_views(text: str) -> list[str]:
    """A view alone is no work for a trace, so something is computed from it."""
    return [line if "return" in line else f"a = {line}; return a, a * 1" for line in lines(text)]


CALLS = [
    (group, line)
    for group, text in GROUPS.items()
    for line in (lines_of_views if group == "views" else lines)(text)
]
