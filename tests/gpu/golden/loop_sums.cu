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
    bool s17;
    i64 s18;
    i64 s19;
    i64 s20;
    f64 s29;
    f64 s30;
    i64 s31;
    i64 s32;
    i64 s34;
    i64 s35;
    bool s36;
    i64 s37;
    i64 s38;
    i64 s39;
    i64 s40;
    f64 s42;
    bool s45;
    i64 s47;
    i64 s48;
    i64 s49;
    f64 s53;
    i64 s61;
    i64 s64;
    f64 s74;
    i64 s76;
    i64 s77;
    f64 s87;
    bool s90;
    i64 s92;
    i64 s93;
    i64 s94;
    f64 s98;
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
    f64 s54;
    i64 s55;
    i64 s56;
    f64 s57;
    i64 s58;
    i64 s59;
    bool s62;
    i64 s63;
    i64 s65;
    f64 s75;
    i64 s79;
    i64 s80;
    bool s81;
    i64 s82;
    i64 s83;
    i64 s84;
    i64 s85;
    u8* p86;
    i64 n86_0;
    i64 t86_0;
    f64 s88;
    f64 s89;
    f64 s91;
    u8* p95;
    i64 n95_0;
    i64 t95_0;
    f64 s96;
    f64 s97;
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
    s17 = (s3 > s16);
    s18 = (i64)((u64)s2 + (u64)s4);
    s19 = (i64)1ll;
    s20 = (i64)((u64)s3 - (u64)s19);
    s29 = 0x1p-1;
    s30 = __dmul_rn(s1, s29);
    s31 = (i64)0ll;
    s32 = (i64)1ll;
    s34 = (i64)((u64)s2 + (u64)s5);
    s35 = maximum(s34, s31);
    s36 = (s2 < s31);
    s37 = minimum(s2, s5);
    s38 = (s36 ? s35 : s37);
    s39 = (i64)((u64)s5 - (u64)s38);
    s40 = maximum(s39, s31);
    s42 = (f64)s31;
    s45 = (s5 > s31);
    s47 = minimum(s32, s5);
    s48 = (i64)((u64)s5 - (u64)s47);
    s49 = maximum(s48, s31);
    s53 = 0x0p+0;
    s61 = (i64)0ll;
    s64 = (i64)1ll;
    s74 = 0x1p-1;
    s76 = (i64)0ll;
    s77 = (i64)1ll;
    s87 = (f64)s76;
    s90 = (s5 > s76);
    s92 = minimum(s77, s5);
    s93 = (i64)((u64)s5 - (u64)s92);
    s94 = maximum(s93, s76);
    s98 = 0x0p+0;
    switch (ctl->resume) {
        case 1:
        s52 = *(f64*)(saved + 0);
        grid_meet(ctl);
        goto r0;
        case 2:
        s58 = *(i64*)(saved + 0);
        s63 = *(i64*)(saved + 16);
        s65 = *(i64*)(saved + 32);
        s97 = *(f64*)(saved + 48);
        grid_meet(ctl);
        goto r1;
        default: grid_meet(ctl);
    }
    b0:;
    b1:;
    if (s17) {
        goto b2;
    }
    goto b3;
    b2:;
    b4:;
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
    s54 = s52;
    s55 = s32;
    s56 = s2;
    s57 = s53;
    s58 = s18;
    s59 = s20;
    b5:;
    s62 = (s59 > s61);
    if (s62) {
        goto b6;
    }
    goto b7;
    b6:;
    s63 = (i64)((u64)s58 + (u64)s4);
    s65 = (i64)((u64)s59 - (u64)s64);
    b8:;
    s75 = __dmul_rn(s54, s74);
    if (faulty(s75, s54, s74)) goto x4;
    s79 = (i64)((u64)s58 + (u64)s5);
    s80 = maximum(s79, s76);
    s81 = (s58 < s76);
    s82 = minimum(s58, s5);
    s83 = (s81 ? s80 : s82);
    s84 = (i64)((u64)s5 - (u64)s83);
    s85 = maximum(s84, s76);
    n86_0 = s85;
    t86_0 = s77 * t0_0;
    p86 = p0 + s83 * t0_0;
    {
        const f64 all = pairwise<f64>(ctl, left_by, team, teams, p86, t86_0, n86_0);
        s88 = n86_0 > 0 ? sum(s87, all) : s87;
    }
    if (n86_0 > kAlone) { u8* const was = left_by; left_by = left_next, left_next = was; }
    if (nonfinite(s88)) goto x4;
    s89 = __dadd_rn(s75, s88);
    if (faulty(s89, s75, s88)) goto x4;
    if (!s90) goto x4;
    s91 = *(const f64*)(p0 + s76 * t0_0);
    n95_0 = s94;
    t95_0 = s77 * t0_0;
    p95 = p0 + s92 * t0_0;
    {
        const f64 all = fold(ctl, left_by, team, teams, elements<f64, maximum_of_f64>{p95, t95_0, __longlong_as_double((i64)0xfff0000000000000ull)}, n95_0);
        s96 = n95_0 > 0 ? maximum(s91, all) : s91;
    }
    if (n95_0 > kAlone) { u8* const was = left_by; left_by = left_next, left_next = was; }
    if (nonfinite(s96)) goto x4;
    s97 = __dadd_rn(s89, s96);
    if (faulty(s97, s89, s96)) goto x4;
    if (--left <= 0) {
        left = next_look(ctl, seen, begun, false);
        if (left <= 0) goto h1;
        seen += left;
    }
    r1:;
    {
        const auto xs54 = s97;
        const auto xs55 = s77;
        const auto xs56 = s58;
        const auto xs57 = s98;
        const auto xs58 = s63;
        const auto xs59 = s65;
        s54 = xs54;
        s55 = xs55;
        s56 = xs56;
        s57 = xs57;
        s58 = xs58;
        s59 = xs59;
    }
    goto b5;
    b7:;
    goto x3;
    b3:;
    goto x0;
    h0:;
    if (leader) {
        *(f64*)(saved + 0) = s52;
        ctl->resume = 1;
    }
    status = 3;
    goto x2;
    h1:;
    if (leader) {
        *(i64*)(saved + 0) = s58;
        *(i64*)(saved + 16) = s63;
        *(i64*)(saved + 32) = s65;
        *(f64*)(saved + 48) = s97;
        ctl->resume = 2;
    }
    status = 3;
    goto x5;
    x0:;
    exit = 0;
    goto y0;
    y0:;
    if (leader) {
        *(f64*)(out + 0) = s1;
        *(f64*)(out + 48) = s7;
        *(i64*)(out + 16) = s8;
        *(i64*)(out + 32) = s6;
        ctl->exit = exit, ctl->status = status;
    }
    return;
    x1:;
    exit = 1;
    if (leader) {
        *(f64*)(out + 0) = s1;
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
        *(i64*)(out + 16) = s2;
        *(i64*)(out + 32) = s18;
        *(i64*)(out + 48) = s20;
        *(i64*)(out + 64) = s4;
        ctl->exit = exit, ctl->status = status;
    }
    return;
    x3:;
    exit = 3;
    goto y3;
    y3:;
    if (leader) {
        *(f64*)(out + 0) = s54;
        *(f64*)(out + 48) = s57;
        *(i64*)(out + 16) = s55;
        *(i64*)(out + 32) = s56;
        ctl->exit = exit, ctl->status = status;
    }
    return;
    x4:;
    exit = 4;
    if (leader) {
        *(f64*)(out + 0) = s54;
    }
    goto y4;
    x5:;
    exit = 5;
    if (leader) {
        *(f64*)(out + 0) = s97;
    }
    goto y4;
    y4:;
    if (leader) {
        *(i64*)(out + 16) = s58;
        *(i64*)(out + 32) = s63;
        *(i64*)(out + 48) = s65;
        *(i64*)(out + 64) = s4;
        ctl->exit = exit, ctl->status = status;
    }
    return;
}
