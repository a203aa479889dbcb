extern "C" __global__ void __launch_bounds__(256) elements_region(u8* a0, u8* state) {
    control* const ctl = (control*)state;
    const bool leader = blockIdx.x == 0 && threadIdx.x == 0;
    u8 *const cells = state + 64, *const out = state + 64, *const saved = state + 208;
    u8 *cross = state + 256, *other = cross + 64;
    const u64 begun = nanoseconds();
    i64 left = 1, seen = 1, own_left = 1, own_seen = 1, room = 0;
    i32 exit = -1, cell = -1, status = 1;
    u32 bad = 0, turn = 0;
    u8* memory = nullptr;
    i64 has = 0;
    u8* p0;
    i64 n0_0;
    i64 t0_0;
    i64 s1;
    i64 s2;
    i64 s3;
    i64 s4;
    i64 s5;
    i64 s6;
    f64 s7;
    i64 s8;
    i64 s15;
    i64 s18;
    i64 s27;
    i64 s38;
    bool s39;
    i64 s40;
    bool s41;
    bool s42;
    f64 s43;
    f64 s46;
    i64 s9;
    i64 s10;
    f64 s11;
    i64 s12;
    i64 s13;
    bool s16;
    i64 s17;
    i64 s19;
    i64 s28;
    i64 s29;
    f64 s30;
    i64 s31;
    f64 s32;
    f64 s33;
    i64 s34;
    i64 s35;
    f64 s36;
    f64 s37;
    f64 s44;
    (void)left, (void)seen, (void)own_left, (void)own_seen, (void)room, (void)bad, (void)turn, (void)other, (void)cell, (void)memory, (void)has;
    p0 = a0;
    n0_0 = *(i64*)(state + 128);
    t0_0 = 8;
    s1 = *(i64*)(state + 144 + 0);
    s2 = *(i64*)(state + 160 + 0);
    s3 = *(i64*)(state + 176 + 0);
    s4 = *(i64*)(state + 192 + 0);
    s5 = n0_0;
    s6 = (i64)0ll;
    s7 = 0x0p+0;
    s8 = (i64)-4ll;
    s15 = (i64)0ll;
    s18 = (i64)1ll;
    s27 = (i64)1ll;
    s38 = (i64)-9007199254740992ll;
    s39 = (s1 >= s38);
    s40 = (i64)9007199254740992ll;
    s41 = (s1 <= s40);
    s42 = (s39 && s41);
    s43 = (f64)s1;
    s46 = 0x0p+0;
    switch (ctl->resume) {
        case 1:
        s12 = *(i64*)(saved + 0);
        s17 = *(i64*)(saved + 16);
        s19 = *(i64*)(saved + 32);
        grid_meet(ctl);
        if (!leader) goto o0;
        goto r0;
        default: grid_meet(ctl);
    }
    b0:;
    s9 = s8;
    s10 = s6;
    s11 = s7;
    s12 = s2;
    s13 = s3;
    goto i0;
    i0:;
    if (!leader) goto o0;
    b1:;
    s16 = (s13 > s15);
    s17 = (i64)((u64)s12 + (u64)s4);
    s19 = (i64)((u64)s13 - (u64)s18);
    if (s16) {
        goto b2;
    }
    *(i64*)(cross + 16 + 0) = s9;
    *(i64*)(cross + 16 + 16) = s10;
    *(f64*)(cross + 16 + 32) = s11;
    *(i32*)cross = 0;
    goto o0;
    b2:;
    if (difference_overflows<i64>(s12, s27)) goto x1_0;
    s28 = (i64)((u64)s12 - (u64)s27);
    s29 = s28 < 0 ? s28 + s5 : s28;
    if ((u64)s29 >= (u64)s5) goto x1_0;
    s30 = *(const f64*)(p0 + s29 * t0_0);
    s31 = s12 < 0 ? s12 + s5 : s12;
    if ((u64)s31 >= (u64)s5) goto x1_0;
    s32 = *(const f64*)(p0 + s31 * t0_0);
    s33 = __dadd_rn(s30, s32);
    if (nonfinite(s33)) goto x1_0;
    if (sum_overflows<i64>(s12, s27)) goto x1_0;
    s34 = (i64)((u64)s12 + (u64)s27);
    s35 = s34 < 0 ? s34 + s5 : s34;
    if ((u64)s35 >= (u64)s5) goto x1_0;
    s36 = *(const f64*)(p0 + s35 * t0_0);
    s37 = __dadd_rn(s33, s36);
    if (nonfinite(s37)) goto x1_0;
    if (!s42) goto x1_0;
    s44 = __dmul_rn(s37, s43);
    if (nonfinite(s44)) goto x1_0;
    *(f64*)(p0 + s31 * t0_0) = s44;
    if (--own_left <= 0) {
        own_left = next_look(ctl, own_seen, begun, true);
        if (own_left <= 0) goto h0;
        own_seen += own_left;
    }
    r0:;
    {
        const auto xs9 = s27;
        const auto xs10 = s12;
        const auto xs11 = s46;
        const auto xs12 = s17;
        const auto xs13 = s19;
        s9 = xs9;
        s10 = xs10;
        s11 = xs11;
        s12 = xs12;
        s13 = xs13;
    }
    goto b1;
    b3:;
    goto x0;
    o0:;
    grid_meet(ctl);
    { u8* const was = cross; cross = other, other = was; }
    switch (*(i32*)other) {
        case 0:
        s9 = *(i64*)(other + 16 + 0);
        s10 = *(i64*)(other + 16 + 16);
        s11 = *(f64*)(other + 16 + 32);
        goto b3;
        default: return;
    }
    h0:;
    if (leader) {
        *(i64*)(saved + 0) = s12;
        *(i64*)(saved + 16) = s17;
        *(i64*)(saved + 32) = s19;
        ctl->resume = 1;
    }
    status = 3;
    goto x2_0;
    x0:;
    exit = 0;
    goto y0;
    y0:;
    if (leader) {
        *(f64*)(out + 32) = s11;
        *(i64*)(out + 0) = s9;
        *(i64*)(out + 16) = s10;
        ctl->exit = exit, ctl->status = status;
    }
    return;
    x1_0:;
    exit = 1;
    goto y1_0;
    x2_0:;
    exit = 2;
    goto y1_0;
    y1_0:;
    if (leader) {
        *(i64*)(out + 0) = s12;
        *(i64*)(out + 16) = s17;
        *(i64*)(out + 32) = s19;
        *(i64*)(out + 48) = s4;
        ctl->exit = exit, ctl->status = status;
    }
    *(i32*)cross = -1;
    goto o0;
}
