/// How the page looks, and what a browser may do with it.
enum PageStyle {
    /// What the page may load, which is nothing: the one stylesheet is named by its SHA-256, and the picture of the
    /// tab stands in the page itself. A script that got in, by whatever way, would not run.
    static let contentSecurityPolicy =
        "default-src 'none'; style-src 'sha256-\(digest)'; img-src data:; base-uri 'none'; form-action 'none'; "
        + "frame-ancestors 'none'"

    /// SHA-256 of ``text``, in Base64. A test says what it must be when the text has changed.
    static let digest = "CXJFpgmdq/JWRGbEgL/EFcabwvsDhOaS7ucrNOsz8+w="

    /// The stylesheet. Text and marks differ from what is behind them by 4.5 to 1 or more, areas by 3 to 1.
    static let text = """
        :root{color-scheme:light dark;
        --page:#f4f5f4;--card:#fff;--ink:#1b2127;--quiet:#57616b;--line:#dce0e3;--strong:#8b949c;--link:#0b5a94;
        --fine:#17693a;--watch:#8a5300;--broken:#b3231b;
        --message:#4a94cf;--mention:#b4540f;--dm:#14304f;--unknown:#7d7d7d;--ios:#54458a;--android:#35917f}
        @media(prefers-color-scheme:dark){:root{
        --page:#0f1317;--card:#171c21;--ink:#e6e9ec;--quiet:#a3adb7;--line:#2b333a;--strong:#6d7883;--link:#7fbdf0;
        --fine:#6bc78f;--watch:#e9b452;--broken:#ff8f84;
        --message:#3d7fb8;--mention:#f09a48;--dm:#c3d2ec;--unknown:#9a9a9a;--ios:#b0a2ea;--android:#2f8f7d}}
        *{box-sizing:border-box}
        html{-webkit-text-size-adjust:100%;text-size-adjust:100%}
        body{margin:0;background:var(--page);color:var(--ink);
        font:16px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif;
        font-variant-numeric:tabular-nums}
        header,main,footer{max-width:76rem;margin:0 auto;padding:0 16px}
        header{display:flex;flex-wrap:wrap;gap:0 20px;align-items:baseline;padding-top:20px}
        h1{font-size:1.125rem;margin:0}
        h2{font-size:1.25rem;line-height:1.3;margin:40px 0 12px}
        h3{font-size:1rem;margin:0}
        p{margin:0}
        a{color:var(--link);text-underline-offset:2px}
        a:focus-visible,summary:focus-visible,.scroll:focus-visible{outline:2px solid var(--link);outline-offset:2px}
        .quiet{color:var(--quiet);font-size:.875rem}
        .card,.status{background:var(--card);border:1px solid var(--line);border-radius:8px;padding:16px;min-width:0;
        overflow-x:auto}
        .status{border-left:6px solid var(--state);margin-top:16px;padding:16px 20px 18px}
        .fine{--state:var(--fine)}.watch{--state:var(--watch)}.broken{--state:var(--broken)}
        .status h2{font-size:1.5rem;margin:0;color:var(--state)}
        .status p{margin-top:4px}
        .status ul{list-style:none;margin:14px 0 0;padding:0;display:grid;gap:12px}
        .status li{display:grid;grid-template-columns:4.75rem 1fr;gap:0 12px;overflow-wrap:anywhere}
        .status li strong{color:var(--state)}
        .status li span{grid-column:2}
        @media(max-width:30rem){.status li{grid-template-columns:1fr}.status li span{grid-column:1}}
        .tiles{display:grid;grid-template-columns:repeat(4,1fr);gap:12px;margin:12px 0 0}
        @media(max-width:52rem){.tiles{grid-template-columns:repeat(2,1fr)}}
        .tiles dt{color:var(--quiet);font-size:.875rem}
        .tiles dd{margin:0}
        .tiles .figure{font-size:1.625rem;line-height:1.3;font-weight:600}
        .two,.three{display:grid;gap:12px;grid-template-columns:repeat(auto-fill,minmax(min(100%,26rem),1fr))}
        .three{grid-template-columns:repeat(auto-fit,minmax(min(100%,21rem),1fr))}
        .two+.two,.two+.three{margin-top:12px}
        .facts{display:grid;grid-template-columns:auto 1fr;gap:4px 16px;margin:10px 0 14px}
        .facts dt{color:var(--quiet)}
        .facts dd{margin:0;overflow-wrap:anywhere}
        .facts small{display:block}
        time{white-space:nowrap}
        small{font-size:.875rem;color:var(--quiet)}
        .facts .fine,.facts .watch,.facts .broken{color:var(--state);font-weight:600}
        .windows{display:flex;flex-wrap:wrap;gap:8px;margin:0 0 12px}
        .windows a{padding:5px 12px;border:1px solid var(--strong);border-radius:999px;text-decoration:none;
        background:var(--card);color:var(--ink);font-size:.9375rem}
        .windows a:hover{border-color:var(--ink)}
        .windows a[aria-current]{background:var(--ink);border-color:var(--ink);color:var(--page);font-weight:600}
        table{width:100%;border-collapse:collapse;font-size:.9375rem}
        caption{text-align:left;font-weight:600;padding:0 0 6px}
        caption small{font-weight:400}
        th,td{padding:4px 0 4px 10px;text-align:right;vertical-align:top;white-space:nowrap;font-weight:400}
        th:first-child,td:first-child{text-align:left;padding-left:0;white-space:normal}
        thead th{color:var(--quiet);font-size:.875rem;vertical-align:bottom}
        tbody tr{border-top:1px solid var(--line)}
        .sum th,.sum td{font-weight:600}
        .part th:first-child{padding-left:14px;color:var(--quiet)}
        thead th,.words{white-space:normal}
        .fault{text-align:left!important;color:var(--broken);font-size:.875rem;overflow-wrap:anywhere;
        white-space:normal!important}
        tr.of-above{border-top:0}
        figure{margin:0}
        figcaption{display:flex;flex-wrap:wrap;justify-content:space-between;gap:0 16px;align-items:baseline}
        .legend{list-style:none;display:flex;flex-wrap:wrap;gap:0 16px;margin:2px 0 10px;padding:0;font-size:.875rem;
        min-height:1.5em}
        .swatch{width:11px;height:11px;margin-right:6px}
        .chart{display:block;width:calc(100% - 56px);height:192px;margin-left:56px;overflow:visible}
        .chart text{fill:var(--quiet);font-size:12px}
        .chart text[text-anchor=end][x="-8"]{dominant-baseline:central}
        .grid{stroke:var(--line)}.axis{stroke:var(--strong)}
        .message{fill:var(--message)}.mention{fill:var(--mention)}.dm{fill:var(--dm)}.unknown{fill:var(--unknown)}
        .ios{fill:var(--ios)}.android{fill:var(--android)}
        .hint{fill:transparent}.hint:hover{fill:var(--ink);fill-opacity:.1}
        details{margin-top:8px}
        summary{cursor:pointer;color:var(--link);font-size:.9375rem;padding:2px 0}
        .scroll{overflow:auto;max-height:26rem;margin-top:6px}
        .scroll thead th{position:sticky;top:0;background:var(--card)}
        @media(max-width:30rem){header,main,footer{padding-left:12px;padding-right:12px}.card{padding:12px}
        table{font-size:.8125rem}th,td{padding-left:7px}.sum td{font-weight:400}
        thead th{font-size:.8125rem}.part th:first-child{padding-left:8px}
        .chart{width:calc(100% - 50px);margin-left:50px}}
        footer{margin-top:32px;padding-bottom:40px}
        footer p+p{margin-top:6px}
        @media print{.card,.status{break-inside:avoid}}

        """
}
