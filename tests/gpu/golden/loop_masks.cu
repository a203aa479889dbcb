extern "C" __global__ void __launch_bounds__(256) masks_9_region(u8* a0, u8* a1, u8* c0, u8* c1, u8* c2, u8* state) {
    control* const ctl = (control*)state;
    const bool leader = blockIdx.x == 0 && threadIdx.x == 0;
    u8 *const cells = state + 64, *const out = state + 112, *const saved = state + 320;
    u8 *cross = state + 416, *other = cross + 16;
    u8 *left_by = state + 448, *left_next = left_by + 16384;
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
    u8* p0;
    i64 n0_0;
    i64 t0_0;
    u8* p1;
    i64 n1_0;
    i64 t1_0;
    i64 s2;
    i64 s3;
    i64 s4;
    i64 s5;
    i64 s6;
    i64 s7;
    f64 s8;
    i64 s9;
    u8* p10;
    i64 n10_0;
    i64 t10_0;
    i64 s11;
    i64 s20;
    i64 s23;
    f64 s34;
    i64 s37;
    f64 s43;
    f64 s47;
    f64 s50;
    i64 s12;
    i64 s13;
    f64 s14;
    u8* p15;
    i64 n15_0;
    i64 t15_0;
    i64 s16;
    i64 s17;
    i64 s18;
    bool s21;
    i64 s22;
    i64 s24;
    f64 s35;
    f64 s36;
    u8* p38;
    i64 n38_0;
    i64 t38_0;
    i64 s41;
    u8* p42;
    i64 n42_0;
    i64 t42_0;
    f64 s45;
    f64 s46;
    (void)left, (void)seen, (void)own_left, (void)own_seen, (void)room, (void)bad, (void)turn, (void)other, (void)cell, (void)memory, (void)has;
    p0 = a0;
    n0_0 = *(i64*)(state + 240);
    t0_0 = 8;
    p1 = a1;
    n1_0 = *(i64*)(state + 256);
    t1_0 = 8;
    s2 = *(i64*)(state + 272 + 0);
    s3 = *(i64*)(state + 288 + 0);
    s4 = *(i64*)(state + 304 + 0);
    s5 = n0_0;
    s6 = n1_0;
    s7 = (i64)0ll;
    s8 = 0x0p+0;
    s9 = (i64)-4ll;
    s11 = (i64)-5ll;
    s20 = (i64)0ll;
    s23 = (i64)1ll;
    s34 = 0x1p-2;
    s37 = (i64)1ll;
    s43 = 0x1p+0;
    s47 = 0x1p-1;
    s50 = 0x0p+0;
    room = room_for(8, s7);
    if (k0 < room) k0 = room, status = 2;
    room = room_for(8, s5);
    if (k1 < room) k1 = room, status = 2;
    if (k2 < room) k2 = room, status = 2;
    if (status == 2) {
        grid_meet(ctl);
        if (leader) {
            *(i64*)(cells + 8) = k0;
            *(i64*)(cells + 24) = k1;
            *(i64*)(cells + 40) = k2;
            ctl->cell = -1, ctl->status = status;
        }
        return;
    }
    switch (ctl->resume) {
        case 1:
        s17 = *(i64*)(saved + 0);
        s22 = *(i64*)(saved + 16);
        s24 = *(i64*)(saved + 32);
        p42 = (u8*)*(u64*)(saved + 48);
        n42_0 = *(i64*)(saved + 64);
        t42_0 = *(i64*)(saved + 80);
        grid_meet(ctl);
        goto r0;
        default: grid_meet(ctl);
    }
    b0:;
    room = 8;
    if (product_overflows<i64>(room, s7)) goto x0;
    room *= s7;
    cell = 0, memory = c0, has = k0;
    p10 = memory;
    n10_0 = s7;
    t10_0 = 8;
    s12 = s9;
    s13 = s7;
    s14 = s8;
    p15 = p10;
    n15_0 = n10_0;
    t15_0 = t10_0;
    s16 = s11;
    s17 = s2;
    s18 = s3;
    b1:;
    s21 = (s18 > s20);
    if (s21) {
        goto b2;
    }
    goto b3;
    b2:;
    s22 = (i64)((u64)s17 + (u64)s4);
    s24 = (i64)((u64)s18 - (u64)s23);
    b4:;
    s35 = (f64)s17;
    s36 = __dmul_rn(s34, s35);
    room = 8;
    if (product_overflows<i64>(room, s5)) goto x2;
    room *= s5;
    cell = 2, memory = c2, has = k2;
    if ((u64)(p15 - c1) >= (u64)k1) cell = 1, memory = c1, has = k1;
    p38 = memory;
    n38_0 = s5;
    t38_0 = 8;
    grid_meet(ctl);
    {
        const i64 total = s5 > 0 ? 1 * s5 : 0;
        i64 passed = 0, first, end;
        team_stretch(total, team, teams, first, end);
        for (i64 from = first; from < end; from += 32) {
            const i64 at = from + lane;
            bool holds = false;
            if (at < end) {
                u8* const e0 = p0 + at * t0_0;
                const f64 s39 = *(const f64*)(e0);
                const bool s40 = (s39 > s36);
                holds = s40;
            }
            passed += __popc(__ballot_sync(~0u, holds));
        }
        i64 number = team_counts(ctl, left_by, passed, team, teams);
        for (i64 from = first; from < end; from += 32) {
            const i64 at = from + lane;
            bool holds = false;
            if (at < end) {
                u8* const e0 = p0 + at * t0_0;
                const f64 s39 = *(const f64*)(e0);
                const bool s40 = (s39 > s36);
                holds = s40;
            }
            const u32 all = __ballot_sync(~0u, holds);
            if (holds) {
                const i64 mine = number + __popc(all & ((1u << lane) - 1));
                u8* const e0 = p0 + at * t0_0;
                const f64 s39 = *(const f64*)(e0);
                const bool s40 = (s39 > s36);
                if (s40) {
                    *(f64*)(p38 + mine * t38_0) = s39;
                }
            }
            number += __popc(all);
        }
        s41 = passed;
        { u8* const was = left_by; left_by = left_next, left_next = was; }
    }
    n42_0 = s41;
    t42_0 = t38_0;
    p42 = p38;
    s45 = (f64)s41;
    s46 = __dsub_rn(s43, s45);
    if (s6 > 0) {
        const i64 total = 1 * s6;
        for (i64 at = (i64)blockIdx.x * blockDim.x + threadIdx.x; at < total; at += (i64)gridDim.x * blockDim.x) {
            u8* const e1 = p1 + at * t1_0;
            const f64 s48 = *(const f64*)(e1);
            const bool s49 = (s48 < s47);
            if (s49) {
                *(f64*)(e1) = s46;
            }
        }
    }
    if (--left <= 0) {
        left = next_look(ctl, seen, begun, false);
        if (left <= 0) goto h0;
        seen += left;
    }
    r0:;
    {
        const auto xs12 = s37;
        const auto xs13 = s17;
        const auto xs14 = s50;
        const auto xp15 = p42;
        const auto xn15_0 = n42_0;
        const auto xt15_0 = t42_0;
        const auto xs16 = s37;
        const auto xs17 = s22;
        const auto xs18 = s24;
        s12 = xs12;
        s13 = xs13;
        s14 = xs14;
        p15 = xp15;
        n15_0 = xn15_0;
        t15_0 = xt15_0;
        s16 = xs16;
        s17 = xs17;
        s18 = xs18;
    }
    goto b1;
    b3:;
    goto x1;
    h0:;
    if (leader) {
        *(i64*)(saved + 0) = s17;
        *(i64*)(saved + 16) = s22;
        *(i64*)(saved + 32) = s24;
        *(u64*)(saved + 48) = (u64)p42;
        *(i64*)(saved + 64) = n42_0;
        *(i64*)(saved + 80) = t42_0;
        ctl->resume = 1;
    }
    status = 3;
    goto x3;
    x0:;
    exit = 0;
    goto y0;
    y0:;
    if (leader) {
        *(i64*)(out + 0) = s2;
        *(i64*)(out + 16) = s3;
        *(i64*)(out + 32) = s4;
        ctl->exit = exit, ctl->status = status;
    }
    return;
    x1:;
    exit = 1;
    goto y1;
    y1:;
    if (leader) {
        *(f64*)(out + 32) = s14;
        *(i64*)(out + 0) = s12;
        *(i64*)(out + 16) = s13;
        *(i64*)(out + 64) = n15_0;
        *(i64*)(out + 80) = t15_0;
        *(i64*)(out + 96) = s16;
        *(u64*)(out + 48) = (u64)p15;
        ctl->exit = exit, ctl->status = status;
    }
    return;
    x2:;
    exit = 2;
    goto y2;
    y2:;
    if (leader) {
        *(i64*)(out + 0) = s17;
        *(i64*)(out + 112) = s4;
        *(i64*)(out + 32) = n15_0;
        *(i64*)(out + 48) = t15_0;
        *(i64*)(out + 64) = s16;
        *(i64*)(out + 80) = s22;
        *(i64*)(out + 96) = s24;
        *(u64*)(out + 16) = (u64)p15;
        ctl->exit = exit, ctl->status = status;
    }
    return;
    x3:;
    exit = 3;
    goto y3;
    y3:;
    if (leader) {
        *(i64*)(out + 0) = s17;
        *(i64*)(out + 32) = n42_0;
        *(i64*)(out + 48) = t42_0;
        *(i64*)(out + 64) = s22;
        *(i64*)(out + 80) = s24;
        *(i64*)(out + 96) = s4;
        *(u64*)(out + 16) = (u64)p42;
        ctl->exit = exit, ctl->status = status;
    }
    return;
}
