/// Keys made once by the `openssl` program for these tests and used nowhere else.
enum Fixtures {
    /// P-256, as Apple hands it out.
    static let ecPKCS8 = """
        -----BEGIN PRIVATE KEY-----
        MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQg8GVINAcmR+PAIMW3
        RGGkUGeZ0o9GO4dNPAszeghWt3KhRANCAAQawd7/o7v+ZjWmvfSIrNNMdnd+mevY
        gYPxLjZVsP9dqQiGMelhTQVHa4DPiuFwZuFGd/I3Rgm3MCGrCz3hedNF
        -----END PRIVATE KEY-----

        """

    /// The same key in the form of `openssl ec`.
    static let ecSEC1 = """
        -----BEGIN EC PRIVATE KEY-----
        MHcCAQEEIPBlSDQHJkfjwCDFt0RhpFBnmdKPRjuHTTwLM3oIVrdyoAoGCCqGSM49
        AwEHoUQDQgAEGsHe/6O7/mY1pr30iKzTTHZ3fpnr2IGD8S42VbD/XakIhjHpYU0F
        R2uAz4rhcGbhRnfyN0YJtzAhqws94XnTRQ==
        -----END EC PRIVATE KEY-----

        """

    /// The same key in the form of `openssl ecparam -genkey`.
    static let ecWithParameters = """
        -----BEGIN EC PARAMETERS-----
        BggqhkjOPQMBBw==
        -----END EC PARAMETERS-----
        -----BEGIN EC PRIVATE KEY-----
        MHcCAQEEIPBlSDQHJkfjwCDFt0RhpFBnmdKPRjuHTTwLM3oIVrdyoAoGCCqGSM49
        AwEHoUQDQgAEGsHe/6O7/mY1pr30iKzTTHZ3fpnr2IGD8S42VbD/XakIhjHpYU0F
        R2uAz4rhcGbhRnfyN0YJtzAhqws94XnTRQ==
        -----END EC PRIVATE KEY-----

        """

    /// Its public half.
    static let ecPublic = """
        -----BEGIN PUBLIC KEY-----
        MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEGsHe/6O7/mY1pr30iKzTTHZ3fpnr
        2IGD8S42VbD/XakIhjHpYU0FR2uAz4rhcGbhRnfyN0YJtzAhqws94XnTRQ==
        -----END PUBLIC KEY-----

        """

    /// The same key with one bit of its private half turned.
    static let ecInconsistent = """
        -----BEGIN EC PRIVATE KEY-----
        MHcCAQEEIPBlSDQHJkfjwCDFt0RgpFBnmdKPRjuHTTwLM3oIVrdyoAoGCCqGSM49
        AwEHoUQDQgAEGsHe/6O7/mY1pr30iKzTTHZ3fpnr2IGD8S42VbD/XakIhjHpYU0F
        R2uAz4rhcGbhRnfyN0YJtzAhqws94XnTRQ==
        -----END EC PRIVATE KEY-----

        """

    /// The same key under a password.
    static let ecEncryptedPKCS8 = """
        -----BEGIN ENCRYPTED PRIVATE KEY-----
        MIHsMFcGCSqGSIb3DQEFDTBKMCkGCSqGSIb3DQEFDDAcBAid6iWKHf+eSAICCAAw
        DAYIKoZIhvcNAgkFADAdBglghkgBZQMEASoEEANXKwKuog2M81VxTwLc01kEgZDh
        vkCKjAquRsV08sGPcMUvYar1tJQdKTnEUG/2p7BfvTiChCIn4w9p22ztZi6ir6gz
        Yn1RkWQ9CvFakEXz//y/8I/HZ6E9ZnJvTPXWtDR4sYcNbY2FCGLHj6IerOuvZOdN
        RTuAC8M5mmK1X+vQtS+v/eyY/TbKjOWQTcn/2bthHX/rvh0iphKwdEaHAR6qq9I=
        -----END ENCRYPTED PRIVATE KEY-----

        """

    /// The same key under a password, as OpenSSL did it before PKCS#8.
    static let ecEncryptedOld = """
        -----BEGIN EC PRIVATE KEY-----
        Proc-Type: 4,ENCRYPTED
        DEK-Info: AES-128-CBC,592ACEA0AFCD85E995FD0ECD6EAB2DCB

        WJB0O5MjJnytXE+wpkIHKZ2G9e+9PSXbk2H9MY/NDKT/Mxvtuik+z90wSZ9wpK35
        vV+kjiwbqxRkP8ICccNyNJGlugcJ7OG5vKAnvq7hy+Tb1eO/PdbHME1fj5CqTwqQ
        uaIzZtco+v9zEF6YVW/wuelPQiiBYcUUDxwDIWjdcCE=
        -----END EC PRIVATE KEY-----

        """

    /// Another curve.
    static let ecP384 = """
        -----BEGIN EC PRIVATE KEY-----
        MIGkAgEBBDDh71ppiaxDUdeaAh/aE3plM88pO/+OfWzWLpyObXQcP4D4PGB7n/Zs
        UBse6RrwgCugBwYFK4EEACKhZANiAARCvFRrXOw+cDjQN3TOeLEzE9OiZUd9ULNO
        3zagSEWIuMlGOSCaalg0iE/bTHGWOI1zDPY9pl7IjQhe9cz7DrCC08rpxTQ7TYPq
        9V7IdvpjeRr3inX09glnc04ysX2Dk/A=
        -----END EC PRIVATE KEY-----

        """

    /// A certificate of the P-256 key.
    static let certificate = """
        -----BEGIN CERTIFICATE-----
        MIIBdTCCARugAwIBAgIUf0ErnGdExDBJ3PS5c1yVrQmRXr0wCgYIKoZIzj0EAwIw
        DzENMAsGA1UEAwwEdGVzdDAgFw0yNjExMzAwNTE1NTdaGA8yMTI2MTEwNjA1MTU1
        N1owDzENMAsGA1UEAwwEdGVzdDBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABBrB
        3v+ju/5mNaa99Iis00x2d36Z69iBg/EuNlWw/12pCIYx6WFNBUdrgM+K4XBm4UZ3
        8jdGCbcwIasLPeF500WjUzBRMB0GA1UdDgQWBBTEcuP/JTMqEInwZQhsjOtLa1gx
        0TAfBgNVHSMEGDAWgBTEcuP/JTMqEInwZQhsjOtLa1gx0TAPBgNVHRMBAf8EBTAD
        AQH/MAoGCCqGSM49BAMCA0gAMEUCIDQAOOOadHRsKa4JNV4RCzkb+TmFNOTQNPFl
        tiIvNjoiAiEA831vi97kh3/Q/z3konOX2uFzx0hGP2oHQft5OAsKWhs=
        -----END CERTIFICATE-----

        """

    /// RSA, as Google hands it out.
    static let rsa2048PKCS8 = """
        -----BEGIN PRIVATE KEY-----
        MIIEvgIBADANBgkqhkiG9w0BAQEFAASCBKgwggSkAgEAAoIBAQC8GWCuteXBlFlh
        5gjAUfQXmFO4aKQRES7pYDQUOXBtwGbG5WiF8DHpaJbmLl2nqyQ3Ozn/OkeziRr8
        GFknxGnuwEQI1D/RoLv4TImzOZz6C8f3xdFj74O/q4sSBm3pGfFAI+0ptRP7AvLB
        zJ2jJEXAFTO24CAti61JaVRoCr3EFWVSOvZ72MSQiLdoc3y+l5NEekhbP6ujdV4b
        7qIu7VstnpopmHaj3UCdhcHOIQTqXJ+phk3HV3zBKjIzFseMg6pWQOeyRxkBYW8c
        C73kawAAv5Vb5lATu5jNM5BUai8mPlkT7Q7PKylpx/W0oFkun0HXoX8TzsQYBQ64
        vwHk7SALAgMBAAECggEAB7Bl4l5vKO2ehcD4hJwVBU3lxjkI0+XG7CVRm64JaYMe
        8Gx6TFdYQvlSidBFZdA6J8PVCBjiy3UEVF/ObTC7P9Y+MbozbadLZ8gBLQFi6FnI
        79j3SUWGNjSV98OphIjZ8sxFKppLWcxyDfgGTZ/y9fon5gbdad820zRqDeK6hSRk
        nQn/EgukfUQxA/G2jJwq6li9vynAsfMbvktjLppuIQIWIFdh9ymYh8nk+3URdL/O
        Xf9bLIxNxJLp1BGdIlBmWxFUfBbO0GiET1b0+hDbT70yiuf8jKHATgWPxK2hTKx+
        ZiytFabTlJRYVsD/rqNGv5crqWXpjf22HN1Bf40RUQKBgQD/cDhJy9w61d/6Njzc
        EyFwIf6MxrkYu41j3OhTH4hV4mwdDRAHrD1fPSteH0ylUHHbMJiM1eOc82vwL7vI
        huCSBkCh6EDJIj2IXQ3BftMwyCnS+5DccaHhAMPwZO+Y8kiiCRH6Q/u0dPMBsdUj
        zNeVNuXJ7e5+4z5JN48AR1fHmQKBgQC8g0EQQUMaswuE5kVL4QBDk0ZOjr6VnCW8
        w40Yf1SDxUzBG5/Q3LgV/fu2l/yEHzIK6txAC2YVbGZmzf3nPCZT5WNouS2w8B4x
        3k9GjDbgprb8j64WBdWXVJ5336x4XB0sa1y6TjpUC61mYmpFX/fk7J0zU2cC/mDl
        jqBAm1TbQwKBgFvT8+hTqTBdgs9ogCh9mB+/mMrzBcemZQXpfHulclWtuEAZWhHo
        EYgTbWvAxMUJTmUF61F18wWRXNRT1KYaFtFn/gQ2glPMQ2KqUS+mcDWxP5fhaApX
        r2I77DSXlKrfLs1RhWz605nkERgi3gSotzelLKaTKpHjD5kyp+3pt9zBAoGBAIGt
        nOVsr5e/UQ5ERak0B7V0q2nBAlPyzXbz4qzWcrIO2IUC1sab/zqJtE1gckIFH6yo
        8YhRDxFvt2XDEIWwOAGAjAjvUgIku/C8KDa0n8+cf8ZvpGbb7pmiiTyXLpLBcwQq
        euhihfdo7QjAbLB6mxHsvxsepX9GtCtWGOE4uX/3AoGBAMCDv7lQuDbFD9hh2FAU
        9AxaE0j2eqeE5NoZfBtdlpGd6t5Mby8+2p972Dm3/tyNZk4a03oX6zz2vuNo+ehP
        Mv8WGx0e9wWmVSYhR1P0k1hv2LgG5yj5rrTHguu+5lFXy+DxMEGxl9Y3Qq1nuxxv
        4aalmaPcqKuxIeym/JfjtCjV
        -----END PRIVATE KEY-----

        """

    /// The same key in PKCS#1.
    static let rsa2048PKCS1 = """
        -----BEGIN RSA PRIVATE KEY-----
        MIIEpAIBAAKCAQEAvBlgrrXlwZRZYeYIwFH0F5hTuGikEREu6WA0FDlwbcBmxuVo
        hfAx6WiW5i5dp6skNzs5/zpHs4ka/BhZJ8Rp7sBECNQ/0aC7+EyJszmc+gvH98XR
        Y++Dv6uLEgZt6RnxQCPtKbUT+wLywcydoyRFwBUztuAgLYutSWlUaAq9xBVlUjr2
        e9jEkIi3aHN8vpeTRHpIWz+ro3VeG+6iLu1bLZ6aKZh2o91AnYXBziEE6lyfqYZN
        x1d8wSoyMxbHjIOqVkDnskcZAWFvHAu95GsAAL+VW+ZQE7uYzTOQVGovJj5ZE+0O
        zyspacf1tKBZLp9B16F/E87EGAUOuL8B5O0gCwIDAQABAoIBAAewZeJebyjtnoXA
        +IScFQVN5cY5CNPlxuwlUZuuCWmDHvBsekxXWEL5UonQRWXQOifD1QgY4st1BFRf
        zm0wuz/WPjG6M22nS2fIAS0BYuhZyO/Y90lFhjY0lffDqYSI2fLMRSqaS1nMcg34
        Bk2f8vX6J+YG3WnfNtM0ag3iuoUkZJ0J/xILpH1EMQPxtoycKupYvb8pwLHzG75L
        Yy6abiECFiBXYfcpmIfJ5Pt1EXS/zl3/WyyMTcSS6dQRnSJQZlsRVHwWztBohE9W
        9PoQ20+9Morn/IyhwE4Fj8StoUysfmYsrRWm05SUWFbA/66jRr+XK6ll6Y39thzd
        QX+NEVECgYEA/3A4ScvcOtXf+jY83BMhcCH+jMa5GLuNY9zoUx+IVeJsHQ0QB6w9
        Xz0rXh9MpVBx2zCYjNXjnPNr8C+7yIbgkgZAoehAySI9iF0NwX7TMMgp0vuQ3HGh
        4QDD8GTvmPJIogkR+kP7tHTzAbHVI8zXlTblye3ufuM+STePAEdXx5kCgYEAvINB
        EEFDGrMLhOZFS+EAQ5NGTo6+lZwlvMONGH9Ug8VMwRuf0Ny4Ff37tpf8hB8yCurc
        QAtmFWxmZs395zwmU+VjaLktsPAeMd5PRow24Ka2/I+uFgXVl1Sed9+seFwdLGtc
        uk46VAutZmJqRV/35OydM1NnAv5g5Y6gQJtU20MCgYBb0/PoU6kwXYLPaIAofZgf
        v5jK8wXHpmUF6Xx7pXJVrbhAGVoR6BGIE21rwMTFCU5lBetRdfMFkVzUU9SmGhbR
        Z/4ENoJTzENiqlEvpnA1sT+X4WgKV69iO+w0l5Sq3y7NUYVs+tOZ5BEYIt4EqLc3
        pSymkyqR4w+ZMqft6bfcwQKBgQCBrZzlbK+Xv1EOREWpNAe1dKtpwQJT8s128+Ks
        1nKyDtiFAtbGm/86ibRNYHJCBR+sqPGIUQ8Rb7dlwxCFsDgBgIwI71ICJLvwvCg2
        tJ/PnH/Gb6Rm2+6Zook8ly6SwXMEKnroYoX3aO0IwGywepsR7L8bHqV/RrQrVhjh
        OLl/9wKBgQDAg7+5ULg2xQ/YYdhQFPQMWhNI9nqnhOTaGXwbXZaRnereTG8vPtqf
        e9g5t/7cjWZOGtN6F+s89r7jaPnoTzL/FhsdHvcFplUmIUdT9JNYb9i4Buco+a60
        x4LrvuZRV8vg8TBBsZfWN0KtZ7scb+GmpZmj3KirsSHspvyX47Qo1Q==
        -----END RSA PRIVATE KEY-----

        """

    /// The same key under a password.
    static let rsaEncryptedOld = """
        -----BEGIN RSA PRIVATE KEY-----
        Proc-Type: 4,ENCRYPTED
        DEK-Info: AES-128-CBC,7969A5F2D9369513F1C4237C76FD56C3

        LIIMk1LSHQ5vobVOlXcPARtCLgUMBUS5DSQh7eS1ASYeXUUTLZLz+qL+0POsKMPb
        JLLpK1ApXH24Th4TouDgTAJFdArEDTeJ5m/Z8CjhwfG1U0lOoYlTbcHI4SB87CxO
        v2TiWdsonBRwq4KqfKe5mt8CUH8N8LhVMhnCGT9jeeu0j2rDfMYXTdATuIrw4Xrn
        jaqDbejV1c/n8DWLapyd0BK63rbx4fphb/RQklvsIXmPvhOUsVq8zDxTmUNt1fF7
        38KsscAhNmOrEPrEkYz+LvclqFBktAyzd3B7W41b0Ogb3t4iz0eAqyuENEDzeRNE
        L/XGYTEZX/9JPL8yrCCaGHK2b26ptmDAoOzdaU9RN+gU6HM3zKSU3HizClAxxu/2
        Hp89gQJXhi/gqAqrCGpQn1SvQMrun6SQukSjk2sGlB4fjCBj+JIkpeX60ibuSDLh
        GYpkdPwfirFLobTUS+CbwP9fTcoRa1MruRf1UTNnMTfuYQLHwZJqWvOHtjr1uVnD
        /nN+tqhdcJ/saRBLVUbzyj6NuA3dbPUqPU2Db/ulE+znqe1ze5mjKfDctD2v8RPm
        hoMWdu30lsNVysHPaBOfDfO3RpqHYmHOg4iOvwYtSYM0sejLI+EDD7ZS3NQ8rL1I
        gxqWPR2iMIV1mH63BLmOL7XRklIjtFXJM5/C4UycZZQqvVuVP/9Rb4zvyNv4TH03
        lZSObq+0hUgjOZeZeo3juxikzfMMj4irxbMywxmc8kWbIXRS20s5stt2yxDKwFHI
        wKA9WGSPmTJMS9BPa5oOSVqAHuSGehPR8hy+hNlgAl3RxNsXIBhix6ixR6hIWNvt
        fzTNPrnH2be0fPQp5rZ0wpXhD7nluv5iTSkkfzv97ZPpbTupQrZKt3xeoUS/S8xA
        AhoZ++XsFx/pPtVu/RnjSr1dBZA3B+y9hUwZniHKB2NAhYMgBuGBs8F4EvLgd0rE
        vJMgNlnvayvWartVKMuVSf8NOp4fRqww9ump4iQQ/JgoOEDNAy16CKJ2aX49Z8zC
        Fcz8mQfuQux+3NGTMZTGWdwlh7mEsVZDUwvDqVgy5rG8e08QCtLsZgIPfVbLaLM8
        8TuHa3dR51K9jYK53OyBMyQh2rDglkSSk95+wGvpd/523PeIHH8RZR3QssdHQhxx
        Td++stwr5aEsq1h09fXion2rkgFcuafwQHzwz21J84zRBb0SV1/GSvg4rU/gm7qI
        B/n0kUGejPQyDiSVAp+mabdQf2biuP5RXIvvsRYDpsEfyduFbDVxit4hJdrpfoVU
        Y5ZJjxTXn4ZfQ0rmCAOBPuv7Ms/1Mer5IwDMQEwxhGz8hscuGUYtkWwjzg42Szzr
        PNkKMio//GuOy8FHOTZT6lyOBf4pT9MraEEnMgzMlW464ovQAXTQ7TZxEXMWfF9W
        omdMIJo6+jMWjvJ95yQDxf2m8HbVeHgCuUOhyAR1CC9MbGpPiovkPAnZSrmGhmkz
        7SVtNw6aUpf4zRWffymgnRLDEAf8xjnQMwJzp9T1yz9EJbFpe+a8t0YR+mRc6ueJ
        yriJInKsx5QigJA5J9YHVf14d8VdcW0isxnxTUpRsPAXsYDlhqOguiRf9/CEc4oK
        -----END RSA PRIVATE KEY-----

        """

    /// Too short.
    static let rsa1024 = """
        -----BEGIN PRIVATE KEY-----
        MIICdgIBADANBgkqhkiG9w0BAQEFAASCAmAwggJcAgEAAoGBAJw/gc7L4BzmOBPV
        IQtfWUywaQzL5EAx/xb1T1JLspZPLA4oIuDWyN/HR2Gf0vaW0J/h0rcl3BhW5pWs
        3fzI/PtpIvQXJ4h+lbgcMvjdASdV7wYAars2i6p642IhXj8YNfn+wvIjCuKSufSD
        KR7zoB6Z5T7BkEF6ItmRmLTEqPoTAgMBAAECgYBuhoH1XcRnzPaIGPBqEgWiOPvm
        gGgyfOtcOyTkKwXmS5T3Yq7hay3nFhlJVnwt0Js9LcoXoiFh2j78S68v/KDuv/v+
        m0pdPEd+1yi2vHzry4PC3gbv+OEr2jsM9tOzgn8YLwGSJUbesUyKATDqLVEQC8uN
        /PeH43Jqaoz0UbS+aQJBAMv1cr/vVcI2/tMYUsWa66q+zq82yxaiA2Lq8xxWogun
        +JxYZUfTwYLimN2BHTrPZdMEwcosRwyevRTfATkn1bcCQQDEHZqR169nunqKI/y+
        UBfk3SOhyzYCE23VIZgwD1kdZNK9ECyiWp63gKofmgoMSrm7pD+fr3Mp37lZSEnr
        cJ6FAkAFgJGf6+z8WE93kmhpPEyvRoZ845WG/sfomz4DvbKRbe6fCSNyVJwb09Eb
        6KfJNl8g2jgAJEGmbYHcVkfKKvDxAkEAo/rU2Yls4uCrwYHhvQefUwAM4SXXHNk+
        Bu22IMlUjB1XkDpL99ypxWnR1eao7Co3LsxhXpYHR0YH5r1pAXIDOQJAL2QqOpPv
        7am0zp63bthFoxmR7Ln0fxX9s1jmKfIoTjTnAGwJoPQBZyUCnknv05BDQyAhZrhQ
        OMipPqCZAsQ7tQ==
        -----END PRIVATE KEY-----

        """

    /// What `openssl dgst -sha256 -sign` made of `header.payload` with the RSA key.
    static let rsaSignatureOfMessage =
        "a8f925d617f38b36529d9a07749c7bf52edb2ece50d985a0b659bb935c9a1df0aa32aefba67e332b6f8d6265745610f5"
        + "90198f91f1f4128b6eebc900d9296d171d185c632feb5009562de06fb354808e20d0fc9220981c020476c19e184c0afd"
        + "f0c713d5aaec8ed1b827a63d4fd044098cef077472949afc0be20c0cdd1009a738a304ab885751b1126caa198926b059"
        + "7829ad1f6bff9493c78d38564cfc88e24cd230f4010b8477db8b92c9f98fbfe458fde6a1ae06e173973af9a7fd0cd768"
        + "7df7e5060f677d0ae0d683ff291fe88ad44045143b867d6b29e528cb18dba4cddf8b69feb3a729539a72053e950bc185"
        + "890dec4578bdc498a825aa1fd006e9c7"
}
