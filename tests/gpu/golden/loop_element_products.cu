extern "C" __global__ void __launch_bounds__(256) element_products_62_region(u8* a0, u8* a1, u8* a2, u8* state) {
    control* const ctl = (control*)state;
    const bool leader = blockIdx.x == 0 && threadIdx.x == 0;
    u8 *const cells = state + 64, *const out = state + 64, *const saved = state + 400;
    u8 *cross = state + 544, *other = cross + 160;
    const u64 begun = nanoseconds();
    i64 left = 1, seen = 1, own_left = 1, own_seen = 1, room = 0;
    i32 exit = -1, cell = -1, status = 1;
    u32 bad = 0, turn = 0;
    u8* memory = nullptr;
    i64 has = 0;
    u8* p0;
    i64 n0_0;
    i64 n0_1;
    i64 t0_0;
    i64 t0_1;
    u8* p1;
    i64 n1_0;
    i64 n1_1;
    i64 t1_0;
    i64 t1_1;
    u8* p2;
    i64 n2_0;
    i64 n2_1;
    i64 t2_0;
    i64 t2_1;
    i64 s3;
    i64 s4;
    i64 s5;
    i64 s6;
    i64 s7;
    i64 s8;
    i64 s9;
    i64 s10;
    i64 s11;
    i64 s12;
    f64 s13;
    i64 s14;
    i64 s15;
    i64 s16;
    i64 s29;
    i64 s32;
    i64 s47;
    i64 s48;
    i64 s64;
    i64 s77;
    i64 s93;
    i64 s94;
    i64 s111;
    i64 s125;
    f64 s154;
    i64 s155;
    f64 s157;
    i64 s158;
    f64 s160;
    i64 s161;
    i64 s17;
    i64 s18;
    f64 s19;
    i64 s20;
    i64 s21;
    f64 s22;
    i64 s23;
    i64 s24;
    f64 s25;
    i64 s26;
    i64 s27;
    bool s30;
    i64 s31;
    i64 s33;
    i64 s49;
    i64 s50;
    i64 s52;
    i64 s53;
    f64 s54;
    i64 s55;
    i64 s56;
    f64 s57;
    i64 s61;
    i64 s62;
    bool s65;
    i64 s76;
    i64 s78;
    i64 s95;
    i64 s96;
    i64 s99;
    i64 s100;
    f64 s101;
    i64 s108;
    i64 s109;
    bool s112;
    i64 s124;
    i64 s126;
    i64 s142;
    i64 s143;
    f64 s144;
    i64 s145;
    i64 s146;
    f64 s147;
    i64 s148;
    i64 s149;
    f64 s150;
    f64 s151;
    f64 s152;
    (void)left, (void)seen, (void)own_left, (void)own_seen, (void)room, (void)bad, (void)turn, (void)other, (void)cell, (void)memory, (void)has;
    p0 = a0;
    n0_0 = *(i64*)(state + 256);
    n0_1 = *(i64*)(state + 264);
    t0_1 = 8;
    t0_0 = t0_1 * n0_1;
    p1 = a1;
    n1_0 = *(i64*)(state + 288);
    n1_1 = *(i64*)(state + 296);
    t1_1 = 8;
    t1_0 = t1_1 * n1_1;
    p2 = a2;
    n2_0 = *(i64*)(state + 320);
    n2_1 = *(i64*)(state + 328);
    t2_1 = 8;
    t2_0 = t2_1 * n2_1;
    s3 = *(i64*)(state + 352 + 0);
    s4 = *(i64*)(state + 368 + 0);
    s5 = *(i64*)(state + 384 + 0);
    s6 = n0_0;
    s7 = n0_1;
    s8 = n1_0;
    s9 = n1_1;
    s10 = n2_0;
    s11 = n2_1;
    s12 = (i64)0ll;
    s13 = 0x0p+0;
    s14 = (i64)-4ll;
    s15 = (i64)-5ll;
    s16 = (i64)-6ll;
    s29 = (i64)0ll;
    s32 = (i64)1ll;
    s47 = (i64)1ll;
    s48 = (i64)0ll;
    s64 = (i64)0ll;
    s77 = (i64)1ll;
    s93 = (i64)1ll;
    s94 = (i64)0ll;
    s111 = (i64)0ll;
    s125 = (i64)1ll;
    s154 = 0x0p+0;
    s155 = (i64)1ll;
    s157 = 0x0p+0;
    s158 = (i64)1ll;
    s160 = 0x0p+0;
    s161 = (i64)1ll;
    switch (ctl->resume) {
        case 1:
        s26 = *(i64*)(saved + 0);
        s31 = *(i64*)(saved + 16);
        s33 = *(i64*)(saved + 32);
        s61 = *(i64*)(saved + 48);
        s76 = *(i64*)(saved + 64);
        s78 = *(i64*)(saved + 80);
        s108 = *(i64*)(saved + 96);
        s124 = *(i64*)(saved + 112);
        s126 = *(i64*)(saved + 128);
        grid_meet(ctl);
        if (!leader) goto o0;
        goto r0;
        case 2:
        s26 = *(i64*)(saved + 0);
        s31 = *(i64*)(saved + 16);
        s33 = *(i64*)(saved + 32);
        s61 = *(i64*)(saved + 48);
        s76 = *(i64*)(saved + 64);
        s78 = *(i64*)(saved + 80);
        s99 = *(i64*)(saved + 96);
        s100 = *(i64*)(saved + 112);
        s101 = *(f64*)(saved + 128);
        grid_meet(ctl);
        if (!leader) goto o0;
        goto r1;
        case 3:
        s26 = *(i64*)(saved + 0);
        s31 = *(i64*)(saved + 16);
        s33 = *(i64*)(saved + 32);
        s52 = *(i64*)(saved + 48);
        s53 = *(i64*)(saved + 64);
        s54 = *(f64*)(saved + 80);
        s55 = *(i64*)(saved + 96);
        s56 = *(i64*)(saved + 112);
        s57 = *(f64*)(saved + 128);
        grid_meet(ctl);
        if (!leader) goto o0;
        goto r2;
        default: grid_meet(ctl);
    }
    b0:;
    s17 = s14;
    s18 = s12;
    s19 = s13;
    s20 = s15;
    s21 = s12;
    s22 = s13;
    s23 = s16;
    s24 = s12;
    s25 = s13;
    s26 = s3;
    s27 = s4;
    goto i0;
    i0:;
    {
        i64 begin;
        begin = s26;
        {
            if (difference_overflows<i64>(s9, s48)) goto g0;
            s49 = (i64)((u64)s9 - (u64)s48);
            s50 = maximum(s49, s48);
            if (difference_overflows<i64>(s7, s94)) goto g0;
            s95 = (i64)((u64)s7 - (u64)s94);
            s96 = maximum(s95, s94);
            const i64 first0 = s26, count0 = s27;
            const i64 first1 = s48, count1 = s50;
            const i64 first2 = s94, count2 = s96;
            const i64 total = count0 > 0 && count1 > 0 && count2 > 0 ? room_for(room_for(1, count0), count1) : 0;
            const i64 each = room_for(total / ((i64)gridDim.x * blockDim.x) + 1, count2);
            if (total == 0 || each == 0 || each > 1048576) goto g0;
            for (i32 pass = 0; pass < 2; ++pass) {
                for (i64 at = (i64)blockIdx.x * blockDim.x + threadIdx.x; at < total; at += (i64)gridDim.x * blockDim.x) {
                    const i64 q1 = quotient_of(at, count1), i1 = at - q1 * count1;
                    s61 = first1 + i1 * s47;
                    s26 = first0 + q1 * s5;
                    u8* e0 = nullptr; f64 m0{};
                    for (i64 j2 = 0; j2 < count2; ++j2) {
                        s108 = first2 + j2 * s93;
                        s31 = (i64)((u64)s26 + (u64)s5);
                        s76 = (i64)((u64)s61 + (u64)s47);
                        s124 = (i64)((u64)s108 + (u64)s93);
                        if (s26 < 0) bad |= 1u;
                        else {
                            s142 = s26 < 0 ? s26 + s10 : s26;
                            if ((u64)s142 >= (u64)s10) bad |= 1u;
                            else {
                                if (s61 < 0) bad |= 1u;
                                else {
                                    s143 = s61 < 0 ? s61 + s11 : s61;
                                    if ((u64)s143 >= (u64)s11) bad |= 1u;
                                    else {
                                        if (!e0) e0 = p2 + s142 * t2_0 + s143 * t2_1, m0 = *(const f64*)(e0);
                                        s144 = m0;
                                        s145 = s26 < 0 ? s26 + s6 : s26;
                                        if ((u64)s145 >= (u64)s6) bad |= 1u;
                                        else {
                                            s146 = s108 < 0 ? s108 + s7 : s108;
                                            if ((u64)s146 >= (u64)s7) bad |= 1u;
                                            else {
                                                s147 = *(const f64*)(p0 + s145 * t0_0 + s146 * t0_1);
                                                s148 = s108 < 0 ? s108 + s8 : s108;
                                                if ((u64)s148 >= (u64)s8) bad |= 1u;
                                                else {
                                                    s149 = s61 < 0 ? s61 + s9 : s61;
                                                    if ((u64)s149 >= (u64)s9) bad |= 1u;
                                                    else {
                                                        s150 = *(const f64*)(p1 + s148 * t1_0 + s149 * t1_1);
                                                        s151 = __dmul_rn(s147, s150);
                                                        bad |= faulty(s151, s147, s150);
                                                        s152 = __dadd_rn(s144, s151);
                                                        bad |= faulty(s152, s144, s151);
                                                        if (!e0) e0 = p2 + s142 * t2_0 + s143 * t2_1;
                                                        m0 = s152;
                                                    }
                                                }
                                            }
                                        }
                                    }
                                }
                            }
                        }
                    }
                    if (pass && e0) {
                        *(f64*)(e0) = m0;
                    }
                }
                if (pass) break;
                if (bad) atomicOr(&ctl->bad[turn], 1u);
                grid_meet(ctl);
                const u32 leaves = ctl->bad[turn];
                bad = 0, turn ^= 1;
                if (leaves) {
                    grid_meet(ctl);
                    if (leader) ctl->bad[turn ^ 1] = 0;
                    goto g0;
                }
            }
            grid_meet(ctl);
            s17 = s161;
            s18 = first0 + (count0 - 1) * s5;
            s19 = s160;
            s20 = s158;
            s21 = first1 + (count1 - 1) * s47;
            s22 = s157;
            s23 = s155;
            s24 = first2 + (count2 - 1) * s93;
            s25 = s154;
            s26 = first0 + count0 * s5;
            s27 = 0;
            goto b3;
        }
        g0:;
        s26 = begin;
    }
    if (!leader) goto o0;
    b1:;
    s30 = (s27 > s29);
    if (s30) {
        goto b2;
    }
    *(i64*)(cross + 16 + 0) = s17;
    *(i64*)(cross + 16 + 16) = s18;
    *(f64*)(cross + 16 + 32) = s19;
    *(i64*)(cross + 16 + 48) = s20;
    *(i64*)(cross + 16 + 64) = s21;
    *(f64*)(cross + 16 + 80) = s22;
    *(i64*)(cross + 16 + 96) = s23;
    *(i64*)(cross + 16 + 112) = s24;
    *(f64*)(cross + 16 + 128) = s25;
    *(i32*)cross = 0;
    goto o0;
    b2:;
    s31 = (i64)((u64)s26 + (u64)s5);
    s33 = (i64)((u64)s27 - (u64)s32);
    b4:;
    if (difference_overflows<i64>(s9, s48)) goto x1_0;
    s49 = (i64)((u64)s9 - (u64)s48);
    s50 = maximum(s49, s48);
    s52 = s20;
    s53 = s21;
    s54 = s22;
    s55 = s23;
    s56 = s24;
    s57 = s25;
    s61 = s48;
    s62 = s50;
    b5:;
    s65 = (s62 > s64);
    if (s65) {
        goto b6;
    }
    goto b7;
    b6:;
    s76 = (i64)((u64)s61 + (u64)s47);
    s78 = (i64)((u64)s62 - (u64)s77);
    b8:;
    if (difference_overflows<i64>(s7, s94)) goto x2_0;
    s95 = (i64)((u64)s7 - (u64)s94);
    s96 = maximum(s95, s94);
    s99 = s55;
    s100 = s56;
    s101 = s57;
    s108 = s94;
    s109 = s96;
    b9:;
    s112 = (s109 > s111);
    if (s112) {
        goto b10;
    }
    goto b11;
    b10:;
    s124 = (i64)((u64)s108 + (u64)s93);
    s126 = (i64)((u64)s109 - (u64)s125);
    b12:;
    s142 = s26 < 0 ? s26 + s10 : s26;
    if ((u64)s142 >= (u64)s10) goto x3_0;
    s143 = s61 < 0 ? s61 + s11 : s61;
    if ((u64)s143 >= (u64)s11) goto x3_0;
    s144 = *(const f64*)(p2 + s142 * t2_0 + s143 * t2_1);
    s145 = s26 < 0 ? s26 + s6 : s26;
    if ((u64)s145 >= (u64)s6) goto x3_0;
    s146 = s108 < 0 ? s108 + s7 : s108;
    if ((u64)s146 >= (u64)s7) goto x3_0;
    s147 = *(const f64*)(p0 + s145 * t0_0 + s146 * t0_1);
    s148 = s108 < 0 ? s108 + s8 : s108;
    if ((u64)s148 >= (u64)s8) goto x3_0;
    s149 = s61 < 0 ? s61 + s9 : s61;
    if ((u64)s149 >= (u64)s9) goto x3_0;
    s150 = *(const f64*)(p1 + s148 * t1_0 + s149 * t1_1);
    s151 = __dmul_rn(s147, s150);
    if (faulty(s151, s147, s150)) goto x3_0;
    s152 = __dadd_rn(s144, s151);
    if (faulty(s152, s144, s151)) goto x3_0;
    *(f64*)(p2 + s142 * t2_0 + s143 * t2_1) = s152;
    if (--own_left <= 0) {
        own_left = next_look(ctl, own_seen, begun, true);
        if (own_left <= 0) goto h0;
        own_seen += own_left;
    }
    r0:;
    {
        const auto xs99 = s155;
        const auto xs100 = s108;
        const auto xs101 = s154;
        const auto xs108 = s124;
        const auto xs109 = s126;
        s99 = xs99;
        s100 = xs100;
        s101 = xs101;
        s108 = xs108;
        s109 = xs109;
    }
    goto b9;
    b11:;
    if (--own_left <= 0) {
        own_left = next_look(ctl, own_seen, begun, true);
        if (own_left <= 0) goto h1;
        own_seen += own_left;
    }
    r1:;
    {
        const auto xs52 = s158;
        const auto xs53 = s61;
        const auto xs54 = s157;
        const auto xs55 = s99;
        const auto xs56 = s100;
        const auto xs57 = s101;
        const auto xs61 = s76;
        const auto xs62 = s78;
        s52 = xs52;
        s53 = xs53;
        s54 = xs54;
        s55 = xs55;
        s56 = xs56;
        s57 = xs57;
        s61 = xs61;
        s62 = xs62;
    }
    goto b5;
    b7:;
    if (--own_left <= 0) {
        own_left = next_look(ctl, own_seen, begun, true);
        if (own_left <= 0) goto h2;
        own_seen += own_left;
    }
    r2:;
    {
        const auto xs17 = s161;
        const auto xs18 = s26;
        const auto xs19 = s160;
        const auto xs20 = s52;
        const auto xs21 = s53;
        const auto xs22 = s54;
        const auto xs23 = s55;
        const auto xs24 = s56;
        const auto xs25 = s57;
        const auto xs26 = s31;
        const auto xs27 = s33;
        s17 = xs17;
        s18 = xs18;
        s19 = xs19;
        s20 = xs20;
        s21 = xs21;
        s22 = xs22;
        s23 = xs23;
        s24 = xs24;
        s25 = xs25;
        s26 = xs26;
        s27 = xs27;
    }
    goto b1;
    b3:;
    goto x0;
    o0:;
    grid_meet(ctl);
    { u8* const was = cross; cross = other, other = was; }
    switch (*(i32*)other) {
        case 0:
        s17 = *(i64*)(other + 16 + 0);
        s18 = *(i64*)(other + 16 + 16);
        s19 = *(f64*)(other + 16 + 32);
        s20 = *(i64*)(other + 16 + 48);
        s21 = *(i64*)(other + 16 + 64);
        s22 = *(f64*)(other + 16 + 80);
        s23 = *(i64*)(other + 16 + 96);
        s24 = *(i64*)(other + 16 + 112);
        s25 = *(f64*)(other + 16 + 128);
        goto b3;
        default: return;
    }
    h0:;
    if (leader) {
        *(i64*)(saved + 0) = s26;
        *(i64*)(saved + 16) = s31;
        *(i64*)(saved + 32) = s33;
        *(i64*)(saved + 48) = s61;
        *(i64*)(saved + 64) = s76;
        *(i64*)(saved + 80) = s78;
        *(i64*)(saved + 96) = s108;
        *(i64*)(saved + 112) = s124;
        *(i64*)(saved + 128) = s126;
        ctl->resume = 1;
    }
    status = 3;
    goto x4_0;
    h1:;
    if (leader) {
        *(i64*)(saved + 0) = s26;
        *(i64*)(saved + 16) = s31;
        *(i64*)(saved + 32) = s33;
        *(i64*)(saved + 48) = s61;
        *(i64*)(saved + 64) = s76;
        *(i64*)(saved + 80) = s78;
        *(i64*)(saved + 96) = s99;
        *(i64*)(saved + 112) = s100;
        *(f64*)(saved + 128) = s101;
        ctl->resume = 2;
    }
    status = 3;
    goto x5_0;
    h2:;
    if (leader) {
        *(i64*)(saved + 0) = s26;
        *(i64*)(saved + 16) = s31;
        *(i64*)(saved + 32) = s33;
        *(i64*)(saved + 48) = s52;
        *(i64*)(saved + 64) = s53;
        *(f64*)(saved + 80) = s54;
        *(i64*)(saved + 96) = s55;
        *(i64*)(saved + 112) = s56;
        *(f64*)(saved + 128) = s57;
        ctl->resume = 3;
    }
    status = 3;
    goto x6_0;
    x0:;
    exit = 0;
    goto y0;
    y0:;
    if (leader) {
        *(f64*)(out + 128) = s25;
        *(f64*)(out + 32) = s19;
        *(f64*)(out + 80) = s22;
        *(i64*)(out + 0) = s17;
        *(i64*)(out + 112) = s24;
        *(i64*)(out + 16) = s18;
        *(i64*)(out + 48) = s20;
        *(i64*)(out + 64) = s21;
        *(i64*)(out + 96) = s23;
        ctl->exit = exit, ctl->status = status;
    }
    return;
    x1_0:;
    exit = 1;
    goto y1_0;
    y1_0:;
    if (leader) {
        *(f64*)(out + 48) = s22;
        *(f64*)(out + 96) = s25;
        *(i64*)(out + 0) = s26;
        *(i64*)(out + 112) = s31;
        *(i64*)(out + 128) = s33;
        *(i64*)(out + 144) = s5;
        *(i64*)(out + 16) = s20;
        *(i64*)(out + 32) = s21;
        *(i64*)(out + 64) = s23;
        *(i64*)(out + 80) = s24;
        ctl->exit = exit, ctl->status = status;
    }
    *(i32*)cross = -1;
    goto o0;
    x2_0:;
    exit = 2;
    goto y2_0;
    y2_0:;
    if (leader) {
        *(f64*)(out + 64) = s57;
        *(i64*)(out + 0) = s26;
        *(i64*)(out + 112) = s5;
        *(i64*)(out + 128) = s76;
        *(i64*)(out + 144) = s78;
        *(i64*)(out + 16) = s61;
        *(i64*)(out + 160) = s47;
        *(i64*)(out + 32) = s55;
        *(i64*)(out + 48) = s56;
        *(i64*)(out + 80) = s31;
        *(i64*)(out + 96) = s33;
        ctl->exit = exit, ctl->status = status;
    }
    *(i32*)cross = -1;
    goto o0;
    x3_0:;
    exit = 3;
    goto y3_0;
    x4_0:;
    exit = 4;
    goto y3_0;
    y3_0:;
    if (leader) {
        *(i64*)(out + 0) = s26;
        *(i64*)(out + 112) = s78;
        *(i64*)(out + 128) = s47;
        *(i64*)(out + 144) = s124;
        *(i64*)(out + 16) = s61;
        *(i64*)(out + 160) = s126;
        *(i64*)(out + 176) = s93;
        *(i64*)(out + 32) = s108;
        *(i64*)(out + 48) = s31;
        *(i64*)(out + 64) = s33;
        *(i64*)(out + 80) = s5;
        *(i64*)(out + 96) = s76;
        ctl->exit = exit, ctl->status = status;
    }
    *(i32*)cross = -1;
    goto o0;
    x5_0:;
    exit = 5;
    goto y5_0;
    y5_0:;
    if (leader) {
        *(f64*)(out + 64) = s101;
        *(i64*)(out + 0) = s26;
        *(i64*)(out + 112) = s5;
        *(i64*)(out + 128) = s76;
        *(i64*)(out + 144) = s78;
        *(i64*)(out + 16) = s61;
        *(i64*)(out + 160) = s47;
        *(i64*)(out + 32) = s99;
        *(i64*)(out + 48) = s100;
        *(i64*)(out + 80) = s31;
        *(i64*)(out + 96) = s33;
        ctl->exit = exit, ctl->status = status;
    }
    *(i32*)cross = -1;
    goto o0;
    x6_0:;
    exit = 6;
    goto y6_0;
    y6_0:;
    if (leader) {
        *(f64*)(out + 48) = s54;
        *(f64*)(out + 96) = s57;
        *(i64*)(out + 0) = s26;
        *(i64*)(out + 112) = s31;
        *(i64*)(out + 128) = s33;
        *(i64*)(out + 144) = s5;
        *(i64*)(out + 16) = s52;
        *(i64*)(out + 32) = s53;
        *(i64*)(out + 64) = s55;
        *(i64*)(out + 80) = s56;
        ctl->exit = exit, ctl->status = status;
    }
    *(i32*)cross = -1;
    goto o0;
}
