extern "C" __global__ void __launch_bounds__(256) rebinds_region(u8* a0, u8* c0, u8* c1, u8* state) {
    control* const ctl = (control*)state;
    const bool leader = blockIdx.x == 0 && threadIdx.x == 0;
    u8 *const cells = state + 64, *const out = state + 96, *const saved = state + 192;
    u8 *cross = state + 272, *other = cross + 16;
    const u64 begun = nanoseconds();
    i64 left = 1, seen = 1, own_left = 1, own_seen = 1, room = 0;
    i32 exit = -1, cell = -1, status = 1;
    u32 bad = 0, turn = 0;
    u8* memory = nullptr;
    i64 has = 0;
    i64 k0 = *(i64*)(cells + 8);
    i64 k1 = *(i64*)(cells + 24);
    u8* p0;
    i64 n0_0;
    i64 t0_0;
    f64 s1;
    i64 s3;
    i64 s6;
    f64 s8;
    f64 s10;
    i64 s18;
    u8* p4;
    i64 n4_0;
    i64 t4_0;
    i64 s5;
    bool s7;
    i64 s9;
    u8* p11;
    i64 n11_0;
    i64 t11_0;
    i64 s15;
    f64 s16;
    bool s17;
    (void)left, (void)seen, (void)own_left, (void)own_seen, (void)room, (void)bad, (void)turn, (void)other, (void)cell, (void)memory, (void)has;
    p0 = a0;
    n0_0 = *(i64*)(state + 160);
    t0_0 = 8;
    s1 = *(f64*)(state + 176 + 0);
    s3 = (i64)2ll;
    s6 = (i64)0ll;
    s8 = 0x1.8p+0;
    s10 = 0x1p+0;
    s18 = (i64)1ll;
    switch (ctl->resume) {
        case 1:
        p4 = (u8*)*(u64*)(saved + 0);
        n4_0 = *(i64*)(saved + 16);
        t4_0 = *(i64*)(saved + 32);
        s5 = *(i64*)(saved + 48);
        s9 = *(i64*)(saved + 64);
        grid_meet(ctl);
        goto r0;
        case 2:
        p11 = (u8*)*(u64*)(saved + 0);
        n11_0 = *(i64*)(saved + 16);
        t11_0 = *(i64*)(saved + 32);
        s17 = *(u8*)(saved + 48) != 0;
        grid_meet(ctl);
        goto r1;
        default: grid_meet(ctl);
    }
    b0:;
    p4 = p0;
    n4_0 = n0_0;
    t4_0 = t0_0;
    s5 = s3;
    b1:;
    s7 = (s5 > s6);
    if (!s7) goto x0;
    s9 = n4_0;
    r0:;
    room = 8;
    if (product_overflows<i64>(room, s9)) goto x0;
    room *= s9;
    cell = 1, memory = c1, has = k1;
    if ((u64)(p4 - c0) >= (u64)k0) cell = 0, memory = c0, has = k0;
    if (has < room) {
        if (leader) {
            *(u64*)(saved + 0) = (u64)p4;
            *(i64*)(saved + 16) = n4_0;
            *(i64*)(saved + 32) = t4_0;
            *(i64*)(saved + 48) = s5;
            *(i64*)(saved + 64) = s9;
            ctl->resume = 1;
        }
        goto grow;
    }
    p11 = memory;
    n11_0 = s9;
    t11_0 = 8;
    grid_meet(ctl);
    if (s9 > 0) {
        const i64 total = 1 * s9;
        for (i64 at = (i64)blockIdx.x * blockDim.x + threadIdx.x; at < total; at += (i64)gridDim.x * blockDim.x) {
            u8* const e4 = p4 + at * t4_0;
            const f64 s12 = *(const f64*)(e4);
            const f64 s13 = __dmul_rn(s12, s8);
            bad |= faulty(s13, s12, s8);
            const f64 s14 = __dadd_rn(s13, s10);
            bad |= faulty(s14, s13, s10);
            u8* const e11 = p11 + at * t11_0;
            *(f64*)(e11) = s14;
        }
    }
    if (bad) atomicOr(&ctl->bad[turn], 1u);
    grid_meet(ctl);
    if (ctl->bad[turn]) goto x0;
    turn ^= 1;
    s15 = s6 < 0 ? s6 + s9 : s6;
    if ((u64)s15 >= (u64)s9) goto x1;
    s16 = *(const f64*)(p11 + s15 * t11_0);
    s17 = (s16 < s1);
    if (--left <= 0) {
        left = next_look(ctl, seen, begun, false);
        if (left <= 0) goto h1;
        seen += left;
    }
    r1:;
    if (s17) {
        p4 = p11;
        n4_0 = n11_0;
        t4_0 = t11_0;
        s5 = s18;
        goto b1;
    }
    b2:;
    goto x2;
    h1:;
    if (leader) {
        *(u64*)(saved + 0) = (u64)p11;
        *(i64*)(saved + 16) = n11_0;
        *(i64*)(saved + 32) = t11_0;
        *(u8*)(saved + 48) = s17;
        ctl->resume = 2;
    }
    status = 3;
    goto x1;
    x0:;
    exit = 0;
    goto y0;
    y0:;
    if (leader) {
        *(i64*)(out + 16) = n4_0;
        *(i64*)(out + 32) = t4_0;
        *(i64*)(out + 48) = s5;
        *(u64*)(out + 0) = (u64)p4;
        ctl->exit = exit, ctl->status = status;
    }
    return;
    x1:;
    exit = 1;
    goto y1;
    x2:;
    exit = 2;
    goto y1;
    y1:;
    if (leader) {
        *(i64*)(out + 16) = n11_0;
        *(i64*)(out + 32) = t11_0;
        *(u64*)(out + 0) = (u64)p11;
        ctl->exit = exit, ctl->status = status;
    }
    return;
    grow:;
    if (leader) ctl->cell = cell, ctl->bytes = room, ctl->status = 2;
    return;
}
