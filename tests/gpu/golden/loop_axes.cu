extern "C" __global__ void __launch_bounds__(256) axes_40_region(u8* a0, u8* a1, u8* c0, u8* c1, u8* c2, u8* c3, u8* c4, u8* state) {
    control* const ctl = (control*)state;
    const bool leader = blockIdx.x == 0 && threadIdx.x == 0;
    u8 *const cells = state + 64, *const out = state + 144, *const saved = state + 304;
    u8 *cross = state + 352, *other = cross + 16;
    u8 *left_by = state + 384, *left_next = left_by + 16384;
    const i64 teams = teams_of(1024), team = team_number(), lane = threadIdx.x % 32;
    const u64 begun = nanoseconds();
    i64 left = 1, seen = 1, own_left = 1, own_seen = 1, room = 0;
    i32 exit = -1, cell = -1, status = 1;
    u32 bad = 0, turn = 0;
    u8* memory = nullptr;
    i64 has = 0;
    i64 k0 = *(i64*)(cells + 8);
    i64 k1 = *(i64*)(cells + 24);
    i64 k2 = *(i64*)(cells + 40);
    i64 k3 = *(i64*)(cells + 56);
    i64 k4 = *(i64*)(cells + 72);
    u8* p0;
    i64 n0_0;
    i64 n0_1;
    i64 t0_0;
    i64 t0_1;
    u8* p1;
    i64 n1_0;
    i64 t1_0;
    i64 s2;
    i64 s3;
    i64 s4;
    i64 s5;
    i64 s6;
    i64 s7;
    i64 s8;
    f64 s9;
    i64 s10;
    i64 s17;
    i64 s20;
    i64 s29;
    i64 s31;
    bool s32;
    bool s36;
    f64 s43;
    f64 s53;
    i64 s11;
    i64 s12;
    f64 s13;
    i64 s14;
    i64 s15;
    bool s18;
    i64 s19;
    i64 s21;
    u8* p30;
    i64 n30_0;
    i64 t30_0;
    u8* p33;
    i64 n33_0;
    i64 t33_0;
    u8* p35;
    i64 n35_0;
    i64 t35_0;
    u8* p37;
    i64 n37_0;
    i64 t37_0;
    u8* p42;
    i64 n42_0;
    i64 t42_0;
    u8* p44;
    i64 n44_0;
    i64 n44_1;
    i64 t44_0;
    i64 t44_1;
    u8* p48;
    i64 n48_0;
    i64 n48_1;
    i64 t48_0;
    i64 t48_1;
    (void)left, (void)seen, (void)own_left, (void)own_seen, (void)room, (void)bad, (void)turn, (void)other, (void)cell, (void)memory, (void)has;
    p0 = a0;
    n0_0 = *(i64*)(state + 208);
    n0_1 = *(i64*)(state + 216);
    t0_1 = 8;
    t0_0 = t0_1 * n0_1;
    p1 = a1;
    n1_0 = *(i64*)(state + 240);
    t1_0 = 8;
    s2 = *(i64*)(state + 256 + 0);
    s3 = *(i64*)(state + 272 + 0);
    s4 = *(i64*)(state + 288 + 0);
    s5 = n0_0;
    s6 = n0_1;
    s7 = n1_0;
    s8 = (i64)0ll;
    s9 = 0x0p+0;
    s10 = (i64)-4ll;
    s17 = (i64)0ll;
    s20 = (i64)1ll;
    s29 = (i64)1ll;
    s31 = (i64)0ll;
    s32 = (s6 > s31);
    s36 = (s5 == s7);
    s43 = (f64)s31;
    s53 = 0x0p+0;
    room = room_for(8, s5);
    if (k2 < room) k2 = room, status = 2;
    room = room_for(8, s5);
    if (k3 < room) k3 = room, status = 2;
    room = room_for(8, s7);
    if (k0 < room) k0 = room, status = 2;
    room = room_for(8, s6);
    if (k4 < room) k4 = room, status = 2;
    room = room_for(room_for(8, s5), s6);
    if (k1 < room) k1 = room, status = 2;
    if (status == 2) {
        grid_meet(ctl);
        if (leader) {
            *(i64*)(cells + 8) = k0;
            *(i64*)(cells + 24) = k1;
            *(i64*)(cells + 40) = k2;
            *(i64*)(cells + 56) = k3;
            *(i64*)(cells + 72) = k4;
            ctl->cell = -1, ctl->status = status;
        }
        return;
    }
    switch (ctl->resume) {
        case 1:
        s14 = *(i64*)(saved + 0);
        s19 = *(i64*)(saved + 16);
        s21 = *(i64*)(saved + 32);
        grid_meet(ctl);
        goto r0;
        default: grid_meet(ctl);
    }
    b0:;
    s11 = s10;
    s12 = s8;
    s13 = s9;
    s14 = s2;
    s15 = s3;
    b1:;
    s18 = (s15 > s17);
    if (s18) {
        goto b2;
    }
    goto b3;
    b2:;
    s19 = (i64)((u64)s14 + (u64)s4);
    s21 = (i64)((u64)s15 - (u64)s20);
    b4:;
    room = 8;
    if (product_overflows<i64>(room, s5)) goto x1;
    room *= s5;
    cell = 2, memory = c2, has = k2;
    p30 = memory;
    n30_0 = s5;
    t30_0 = 8;
    grid_meet(ctl);
    {
        i64 run = 1, rounds = 1, kept = 1;
        bool inner = true;
        const i64 o1 = inner ? 1 : n0_1;
        rounds *= o1, run *= inner ? n0_1 : 1;
        kept *= n0_0, inner = inner && n0_0 == 1;
        const bool shared = run >= 8;
        const i64 worker = shared ? team_number() : (i64)blockIdx.x * blockDim.x + threadIdx.x;
        const i64 workers = (i64)gridDim.x * (shared ? blockDim.x / 32 : blockDim.x);
        for (i64 at = worker; at < kept; at += workers) {
            const u8* from = p0;
            u8* to = p30;
            {
                i64 rest = at;
                const i64 v0 = quotient_of(rest, n0_0), u0 = rest - v0 * n0_0;
                rest = v0;
                from += u0 * t0_0, to += u0 * t30_0;
            }
            f64 all = 0;
            for (i64 round = 0; round < rounds; ++round) {
                const u8* row = from;
                {
                    i64 rest = round;
                    const i64 v1 = quotient_of(rest, o1), u1 = rest - v1 * o1;
                    rest = v1;
                    row += u1 * t0_1;
                }
                all = sum(all, run_sum<f64>(row, 8, run, shared));
            }
            if (!shared || lane == 0) *(f64*)(to) = all;
            bad |= nonfinite(all);
        }
    }
    if (bad) atomicOr(&ctl->bad[turn], 1u);
    grid_meet(ctl);
    if (ctl->bad[turn]) goto x1;
    turn ^= 1;
    if (!s32) goto x1;
    room = 8;
    if (product_overflows<i64>(room, s5)) goto x1;
    room *= s5;
    cell = 3, memory = c3, has = k3;
    p33 = memory;
    n33_0 = s5;
    t33_0 = 8;
    {
        i64 run = 1, rounds = 1, kept = 1;
        bool inner = true;
        const i64 o1 = inner ? 1 : n0_1;
        rounds *= o1, run *= inner ? n0_1 : 1;
        kept *= n0_0, inner = inner && n0_0 == 1;
        const bool shared = run >= 8;
        const i64 worker = shared ? team_number() : (i64)blockIdx.x * blockDim.x + threadIdx.x;
        const i64 workers = (i64)gridDim.x * (shared ? blockDim.x / 32 : blockDim.x);
        for (i64 at = worker; at < kept; at += workers) {
            const u8* from = p0;
            u8* to = p33;
            {
                i64 rest = at;
                const i64 v0 = quotient_of(rest, n0_0), u0 = rest - v0 * n0_0;
                rest = v0;
                from += u0 * t0_0, to += u0 * t33_0;
            }
            f64 all = __longlong_as_double((i64)0x7ff0000000000000ull);
            for (i64 round = 0; round < rounds; ++round) {
                const u8* row = from;
                {
                    i64 rest = round;
                    const i64 v1 = quotient_of(rest, o1), u1 = rest - v1 * o1;
                    rest = v1;
                    row += u1 * t0_1;
                }
                all = minimum(all, fold_run(elements<f64, minimum_of_f64>{row, 8, __longlong_as_double((i64)0x7ff0000000000000ull)}, run, shared));
            }
            if (!shared || lane == 0) *(f64*)(to) = all;
        }
    }
    if (bad) atomicOr(&ctl->bad[turn], 1u);
    grid_meet(ctl);
    if (ctl->bad[turn]) goto x1;
    turn ^= 1;
    n35_0 = s7;
    t35_0 = s29 * t1_0;
    p35 = p1 + s31 * t1_0;
    if (!s36) goto x1;
    room = 8;
    if (product_overflows<i64>(room, s7)) goto x1;
    room *= s7;
    cell = 0, memory = c0, has = k0;
    p37 = memory;
    n37_0 = s7;
    t37_0 = 8;
    room = 8;
    if (product_overflows<i64>(room, s6)) goto x1;
    room *= s6;
    cell = 4, memory = c4, has = k4;
    p42 = memory;
    n42_0 = s6;
    t42_0 = 8;
    n44_0 = s5;
    t44_0 = 0;
    n44_1 = n42_0;
    t44_1 = t42_0;
    p44 = p42;
    room = 8;
    if (product_overflows<i64>(room, s6)) goto x1;
    room *= s6;
    if (product_overflows<i64>(room, s5)) goto x1;
    room *= s5;
    cell = 1, memory = c1, has = k1;
    p48 = memory;
    n48_0 = s5;
    n48_1 = s6;
    t48_1 = 8;
    t48_0 = t48_1 * n48_1;
    if (s7 > 0) {
        const i64 total = 1 * s7;
        for (i64 at = (i64)blockIdx.x * blockDim.x + threadIdx.x; at < total; at += (i64)gridDim.x * blockDim.x) {
            u8* const e30 = p30 + at * t30_0;
            const f64 s38 = *(const f64*)(e30);
            u8* const e33 = p33 + at * t33_0;
            const f64 s39 = *(const f64*)(e33);
            const f64 s40 = __dsub_rn(s38, s39);
            bad |= faulty(s40, s38, s39);
            u8* const e37 = p37 + at * t37_0;
            *(f64*)(e37) = s40;
        }
    }
    if (bad) atomicOr(&ctl->bad[turn], 1u);
    grid_meet(ctl);
    if (ctl->bad[turn]) goto x1;
    turn ^= 1;
    if (s7 > 0) {
        const i64 total = 1 * s7;
        for (i64 at = (i64)blockIdx.x * blockDim.x + threadIdx.x; at < total; at += (i64)gridDim.x * blockDim.x) {
            u8* const e37 = p37 + at * t37_0;
            const f64 s54 = *(const f64*)(e37);
            u8* const e35 = p35 + at * t35_0;
            *(f64*)(e35) = s54;
        }
    }
    if (s6 > 0) {
        const i64 total = 1 * s6;
        for (i64 at = (i64)blockIdx.x * blockDim.x + threadIdx.x; at < total; at += (i64)gridDim.x * blockDim.x) {
            u8* const e42 = p42 + at * t42_0;
            *(f64*)(e42) = s43;
        }
    }
    grid_meet(ctl);
    if (s5 > 0 && s6 > 0) {
        const i64 total = 1 * s6;
        for (i64 at = (i64)blockIdx.x * blockDim.x + threadIdx.x; at < total; at += (i64)gridDim.x * blockDim.x) {
            for (i64 i0 = 0; i0 < s5; ++i0) {
                u8* const e44 = p44 + i0 * t44_0 + at * t44_1;
                const f64 s45 = *(const f64*)(e44);
                u8* const e0 = p0 + i0 * t0_0 + at * t0_1;
                const f64 s46 = *(const f64*)(e0);
                const f64 s47 = __dadd_rn(s45, s46);
                bad |= faulty(s47, s45, s46);
                *(f64*)(e44) = s47;
            }
        }
    }
    if (bad) atomicOr(&ctl->bad[turn], 1u);
    grid_meet(ctl);
    if (ctl->bad[turn]) goto x2;
    turn ^= 1;
    if (s5 > 0 && s6 > 0) {
        const i64 total = 1 * s5 * s6;
        for (i64 at = (i64)blockIdx.x * blockDim.x + threadIdx.x; at < total; at += (i64)gridDim.x * blockDim.x) {
            const i64 q1 = quotient_of(at, s6), i1 = at - q1 * s6;
            u8* const e0 = p0 + q1 * t0_0 + i1 * t0_1;
            const f64 s49 = *(const f64*)(e0);
            u8* const e44 = p44 + q1 * t44_0 + i1 * t44_1;
            const f64 s50 = *(const f64*)(e44);
            const f64 s51 = __dsub_rn(s49, s50);
            bad |= faulty(s51, s49, s50);
            u8* const e48 = p48 + q1 * t48_0 + i1 * t48_1;
            *(f64*)(e48) = s51;
        }
    }
    if (bad) atomicOr(&ctl->bad[turn], 1u);
    grid_meet(ctl);
    if (ctl->bad[turn]) goto x2;
    turn ^= 1;
    if (s5 > 0 && s6 > 0) {
        const i64 total = 1 * s5 * s6;
        for (i64 at = (i64)blockIdx.x * blockDim.x + threadIdx.x; at < total; at += (i64)gridDim.x * blockDim.x) {
            const i64 q1 = quotient_of(at, s6), i1 = at - q1 * s6;
            u8* const e48 = p48 + q1 * t48_0 + i1 * t48_1;
            const f64 s55 = *(const f64*)(e48);
            u8* const e0 = p0 + q1 * t0_0 + i1 * t0_1;
            *(f64*)(e0) = s55;
        }
    }
    if (--left <= 0) {
        left = next_look(ctl, seen, begun, false);
        if (left <= 0) goto h0;
        seen += left;
    }
    r0:;
    {
        const auto xs11 = s29;
        const auto xs12 = s14;
        const auto xs13 = s53;
        const auto xs14 = s19;
        const auto xs15 = s21;
        s11 = xs11;
        s12 = xs12;
        s13 = xs13;
        s14 = xs14;
        s15 = xs15;
    }
    goto b1;
    b3:;
    goto x0;
    h0:;
    if (leader) {
        *(i64*)(saved + 0) = s14;
        *(i64*)(saved + 16) = s19;
        *(i64*)(saved + 32) = s21;
        ctl->resume = 1;
    }
    status = 3;
    goto x3;
    x0:;
    exit = 0;
    goto y0;
    y0:;
    if (leader) {
        *(f64*)(out + 32) = s13;
        *(i64*)(out + 0) = s11;
        *(i64*)(out + 16) = s12;
        ctl->exit = exit, ctl->status = status;
    }
    return;
    x1:;
    exit = 1;
    goto y1;
    x2:;
    exit = 2;
    goto y1;
    x3:;
    exit = 3;
    goto y1;
    y1:;
    if (leader) {
        *(i64*)(out + 0) = s14;
        *(i64*)(out + 16) = s19;
        *(i64*)(out + 32) = s21;
        *(i64*)(out + 48) = s4;
        ctl->exit = exit, ctl->status = status;
    }
    return;
}
