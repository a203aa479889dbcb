extern "C" __global__ void __launch_bounds__(256) sums_34_region(u8* a0, u8* state) {
    control* const ctl = (control*)state;
    const bool leader = blockIdx.x == 0 && threadIdx.x == 0;
    u8 *const cells = state + 64, *const out = state + 64, *const saved = state + 224;
    u8 *cross = state + 288, *other = cross + 16;
    u8 *left_by = state + 320, *left_next = left_by + 16384;
    const i64 teams = teams_of(1024), team = team_number(), lane = threadIdx.x % 32;
    const u64 begun = nanoseconds();
    i64 left = 1, seen = 1, own_left = 1, own_seen = 1, room = 0;
    i32 exit = -1, cell = -1, status = 1;
    u32 bad = 0, turn = 0;
    u8* memory = nullptr;
    i64 has = 0;
    u8* p0;
    i64 n0_0;
    i64 t0_0;
    f64 s1;
    i64 s2;
    i64 s3;
    i64 s4;
    i64 s5;
    i64 s6;
    f64 s7;
    i64 s8;
    i64 s16;
    i64 s19;
    f64 s29;
    i64 s31;
    i64 s32;
    f64 s42;
    bool s45;
    i64 s47;
    i64 s48;
    i64 s49;
    f64 s53;
    f64 s9;
    i64 s10;
    i64 s11;
    f64 s12;
    i64 s13;
    i64 s14;
    bool s17;
    i64 s18;
    i64 s20;
    f64 s30;
    i64 s34;
    i64 s35;
    bool s36;
    i64 s37;
    i64 s38;
    i64 s39;
    i64 s40;
    u8* p41;
    i64 n41_0;
    i64 t41_0;
    f64 s43;
    f64 s44;
    f64 s46;
    u8* p50;
    i64 n50_0;
    i64 t50_0;
    f64 s51;
    f64 s52;
    (void)left, (void)seen, (void)own_left, (void)own_seen, (void)room, (void)bad, (void)turn, (void)other, (void)cell, (void)memory, (void)has;
    p0 = a0;
    n0_0 = *(i64*)(state + 144);
    t0_0 = 8;
    s1 = *(f64*)(state + 160 + 0);
    s2 = *(i64*)(state + 176 + 0);
    s3 = *(i64*)(state + 192 + 0);
    s4 = *(i64*)(state + 208 + 0);
    s5 = n0_0;
    s6 = (i64)0ll;
    s7 = 0x0p+0;
    s8 = (i64)-4ll;
    s16 = (i64)0ll;
    s19 = (i64)1ll;
    s29 = 0x1p-1;
    s31 = (i64)0ll;
    s32 = (i64)1ll;
    s42 = (f64)s31;
    s45 = (s5 > s31);
    s47 = minimum(s32, s5);
    s48 = (i64)((u64)s5 - (u64)s47);
    s49 = maximum(s48, s31);
    s53 = 0x0p+0;
    switch (ctl->resume) {
        case 1:
        s13 = *(i64*)(saved + 0);
        s18 = *(i64*)(saved + 16);
        s20 = *(i64*)(saved + 32);
        s52 = *(f64*)(saved + 48);
        grid_meet(ctl);
        goto r0;
        default: grid_meet(ctl);
    }
    b0:;
    s9 = s1;
    s10 = s8;
    s11 = s6;
    s12 = s7;
    s13 = s2;
    s14 = s3;
    b1:;
    s17 = (s14 > s16);
    if (s17) {
        goto b2;
    }
    goto b3;
    b2:;
    s18 = (i64)((u64)s13 + (u64)s4);
    s20 = (i64)((u64)s14 - (u64)s19);
    b4:;
    s30 = __dmul_rn(s9, s29);
    if (faulty(s30, s9, s29)) goto x1;
    s34 = (i64)((u64)s13 + (u64)s5);
    s35 = maximum(s34, s31);
    s36 = (s13 < s31);
    s37 = minimum(s13, s5);
    s38 = (s36 ? s35 : s37);
    s39 = (i64)((u64)s5 - (u64)s38);
    s40 = maximum(s39, s31);
    n41_0 = s40;
    t41_0 = s32 * t0_0;
    p41 = p0 + s38 * t0_0;
    {
        const f64 all = pairwise<f64>(ctl, left_by, team, teams, p41, t41_0, n41_0);
        s43 = n41_0 > 0 ? sum(s42, all) : s42;
    }
    if (n41_0 > kAlone) { u8* const was = left_by; left_by = left_next, left_next = was; }
    if (nonfinite(s43)) goto x1;
    s44 = __dadd_rn(s30, s43);
    if (faulty(s44, s30, s43)) goto x1;
    if (!s45) goto x1;
    s46 = *(const f64*)(p0 + s31 * t0_0);
    n50_0 = s49;
    t50_0 = s32 * t0_0;
    p50 = p0 + s47 * t0_0;
    {
        const f64 all = fold(ctl, left_by, team, teams, elements<f64, maximum_of_f64>{p50, t50_0, __longlong_as_double((i64)0xfff0000000000000ull)}, n50_0);
        s51 = n50_0 > 0 ? maximum(s46, all) : s46;
    }
    if (n50_0 > kAlone) { u8* const was = left_by; left_by = left_next, left_next = was; }
    if (nonfinite(s51)) goto x1;
    s52 = __dadd_rn(s44, s51);
    if (faulty(s52, s44, s51)) goto x1;
    if (--left <= 0) {
        left = next_look(ctl, seen, begun, false);
        if (left <= 0) goto h0;
        seen += left;
    }
    r0:;
    {
        const auto xs9 = s52;
        const auto xs10 = s32;
        const auto xs11 = s13;
        const auto xs12 = s53;
        const auto xs13 = s18;
        const auto xs14 = s20;
        s9 = xs9;
        s10 = xs10;
        s11 = xs11;
        s12 = xs12;
        s13 = xs13;
        s14 = xs14;
    }
    goto b1;
    b3:;
    goto x0;
    h0:;
    if (leader) {
        *(i64*)(saved + 0) = s13;
        *(i64*)(saved + 16) = s18;
        *(i64*)(saved + 32) = s20;
        *(f64*)(saved + 48) = s52;
        ctl->resume = 1;
    }
    status = 3;
    goto x2;
    x0:;
    exit = 0;
    goto y0;
    y0:;
    if (leader) {
        *(f64*)(out + 0) = s9;
        *(f64*)(out + 48) = s12;
        *(i64*)(out + 16) = s10;
        *(i64*)(out + 32) = s11;
        ctl->exit = exit, ctl->status = status;
    }
    return;
    x1:;
    exit = 1;
    if (leader) {
        *(f64*)(out + 0) = s9;
    }
    goto y1;
    x2:;
    exit = 2;
    if (leader) {
        *(f64*)(out + 0) = s52;
    }
    goto y1;
    y1:;
    if (leader) {
        *(i64*)(out + 16) = s13;
        *(i64*)(out + 32) = s18;
        *(i64*)(out + 48) = s20;
        *(i64*)(out + 64) = s4;
        ctl->exit = exit, ctl->status = status;
    }
    return;
}
