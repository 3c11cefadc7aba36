/* How a page looks: one column that is easy to read, light or dark as the reader's system is, on paper
 * too. Colours of verdicts have a contrast of at least 4.5 to what they stand on. */
#include "page_internal.h"

const char *const app_page_style[] = {
    ":root{color-scheme:light "
    "dark;--page:#fbfaf8;--card:#fff;--ink:#1f2328;--soft:#57606a;--line:#e2dfd9;--accent:#0b5cad;-"
    "-agrees:#156b2e;--close:#845400;--differs:#b3261e;--agrees-tint:#eaf5ec;--close-tint:#fdf3dc;-"
    "-differs-tint:#fdeceb;--code:#f3f1ed}",
    "@media "
    "(prefers-color-scheme:dark){:root{--page:#14171a;--card:#1c2024;--ink:#e7e9ec;--soft:#a5adb6;-"
    "-line:#343a41;--accent:#7cb7ff;--agrees:#6fd08c;--close:#f0be62;--differs:#ff968d;--agrees-"
    "tint:#1b2a20;--close-tint:#2e2717;--differs-tint:#35201f;--code:#23282d}}",
    "*{box-sizing:border-box}",
    "html{-webkit-text-size-adjust:100%}",
    "body{margin:0;background:var(--page);color:var(--ink);font:16px/1.55 "
    "system-ui,-apple-system,\"Segoe UI\",Roboto,\"Helvetica Neue\",\"Noto "
    "Sans\",Arial,sans-serif;font-variant-numeric:tabular-nums}",
    "main,header,footer{max-width:1080px;margin:0 auto;padding:0 20px}",
    "header{padding-top:36px}",
    "h1{font-size:1.9rem;line-height:1.2;letter-spacing:-.01em;margin:.1em 0 "
    ".35em;text-wrap:balance}",
    "h2{font-size:1.3rem;line-height:1.3;margin:0 0 .6em}",
    "h3{font-size:1.05rem;margin:1.6em 0 .5em}",
    "h1,h2,h3,p,li,dd,td,th,summary{overflow-wrap:anywhere}",
    "p{margin:.5em 0;max-width:72ch}",
    "a{color:var(--accent);text-underline-offset:2px}",
    "a:focus-visible,summary:focus-visible,[tabindex]:focus-visible{outline:2px solid "
    "var(--accent);outline-offset:2px;border-radius:4px}",
    ".kicker{color:var(--soft);font-size:.85rem;letter-spacing:.04em;margin:0}",
    ".lead{font-size:1.06rem}",
    ".soft{color:var(--soft)}",
    "nav{display:flex;flex-wrap:wrap;gap:4px 18px;margin:18px 0 0;padding:10px 0;border-top:1px "
    "solid var(--line);border-bottom:1px solid var(--line);font-size:.92rem}",
    "section{margin:44px 0}",
    ".verdict{background:var(--card);border:1px solid var(--line);border-radius:12px;padding:16px "
    "20px;margin:18px 0}",
    ".verdict strong{font-size:1.25rem;display:block;line-height:1.35}",
    ".bar{display:flex;height:10px;border-radius:5px;overflow:hidden;margin:12px 0 10px;gap:2px}",
    ".bar span{min-width:4px}",
    ".bar .agrees{background:var(--agrees)}.bar .close{background:var(--close)}.bar "
    ".differs{background:var(--differs)}",
    ".legend{list-style:none;display:flex;flex-wrap:wrap;gap:4px "
    "22px;margin:0;padding:0;font-size:.92rem;color:var(--soft)}",
    ".legend b{margin-right:.3em}",
    "b.agrees,.mark.agrees{color:var(--agrees)}b.close,.mark.close{color:var(--close)}b.differs,."
    "mark.differs{color:var(--differs)}",
    ".notice{border:1px solid var(--line);border-left:5px solid "
    "var(--close);border-radius:8px;background:var(--close-tint);padding:12px 18px;margin:16px 0}",
    ".notice.bad{border-left-color:var(--differs);background:var(--differs-tint)}",
    ".notice h2{font-size:1.1rem;margin:0 0 .3em}",
    ".notice h2 span{margin-right:.4em}",
    ".notice ul{margin:.4em 0;padding-left:1.2em}",
    ".notice li{margin:.35em 0}",
    ".scroll{position:relative;overflow-x:auto;border:1px solid "
    "var(--line);border-radius:10px;background:var(--card);margin:10px 0 6px}",
    "table{border-collapse:collapse;width:100%;font-size:.94rem}",
    "caption{text-align:left;font-weight:600;padding:12px 14px 6px}",
    "th,td{padding:6px 14px;text-align:left;white-space:nowrap;overflow-wrap:normal;border-top:1px "
    "solid var(--line)}",
    "thead th{font-weight:600;border-top:0;vertical-align:bottom}",
    "thead tr+tr th{font-weight:400;color:var(--soft);font-size:.86rem;padding-top:0}",
    "tbody th{font-weight:500;position:sticky;left:0;background:var(--card);border-right:1px solid "
    "var(--line)}",
    "tbody tr:hover td{background:var(--code)}",
    "td.paper,thead th.paper{color:var(--soft);padding-left:4px}",
    "td.ours{padding-right:6px}",
    "td.close{background:var(--close-tint)}td.differs{background:var(--differs-tint)}",
    "th.group,td.group{border-left:1px solid var(--line)}",
    ".mark{font-weight:700;margin-left:.25em}",
    ".number td{text-align:right}.number thead th+th{text-align:right}",
    "sup{line-height:0}sup a{text-decoration:none;padding:0 .15em}",
    ".notes{font-size:.92rem;color:var(--soft);padding-left:1.4em}",
    ".notes li{margin:.3em 0;max-width:80ch}",
    ".grid{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,460px),1fr));gap:"
    "14px 18px;align-items:start}",
    "figure{margin:10px 0;min-width:0}",
    ".picture{background:#fff;border:1px solid "
    "var(--line);border-radius:10px;padding:6px;overflow-x:auto}",
    ".picture svg{display:block;max-width:100%;height:auto;margin:0 auto}",
    ".wide{grid-column:1/-1}.wide .picture svg{min-width:640px}",
    "figcaption{display:flex;gap:12px;justify-content:space-between;font-size:.88rem;color:var(--"
    "soft);margin-top:4px;padding:0 6px}",
    ".file{font-size:.82rem;margin-left:.3em;white-space:nowrap}",
    ".missing{font-size:.92rem;color:var(--soft);border:1px dashed "
    "var(--line);border-radius:8px;padding:10px 14px}",
    "details{border:1px solid var(--line);border-radius:10px;background:var(--card);margin:10px "
    "0;padding:0 16px}",
    "summary{cursor:pointer;padding:10px 0;font-weight:600}",
    "summary .soft{font-weight:400}",
    "details[open]{padding-bottom:12px}",
    "details .scroll{border-radius:8px}",
    "dl{display:grid;grid-template-columns:max-content minmax(0,1fr);gap:4px 20px;margin:.4em "
    "0;font-size:.95rem}",
    "dt{color:var(--soft)}dd{margin:0}",
    "pre{background:var(--code);border-radius:8px;padding:12px "
    "14px;overflow-x:auto;font-size:.9rem;margin:.6em 0}",
    "code{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,\"Liberation "
    "Mono\",monospace;font-size:.92em}",
    "footer{color:var(--soft);font-size:.88rem;border-top:1px solid "
    "var(--line);padding-top:14px;padding-bottom:40px}",
    ".sr{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%);white-space:"
    "nowrap}",
    "@media "
    "(max-width:600px){main,header,footer{padding-left:14px;padding-right:14px}header{padding-top:"
    "20px}h1{font-size:1.5rem}section{margin:34px 0}th,td{padding:6px "
    "10px}dl{grid-template-columns:minmax(0,1fr);gap:0}dd{margin:0 0 8px}.verdict "
    "strong{font-size:1.1rem}details{padding:0 12px}}",
    "@media "
    "print{:root{--page:#fff;--card:#fff;--ink:#000;--soft:#444;--line:#bbb;--accent:#000;--code:#"
    "f4f4f4;--agrees:#156b2e;--close:#845400;--differs:#b3261e;--agrees-tint:#fff;--close-tint:#"
    "fff6e0;--differs-tint:#fff0ef}body{font-size:10.5pt}main,header,footer{max-width:none;padding:"
    "0}nav,.file{display:none}section{margin:20pt "
    "0}figure,tr,.verdict,.notice{break-inside:avoid}h2,h3{break-after:avoid}.scroll,.picture{"
    "overflow:visible}th,td{padding:3pt "
    "6pt}details::details-content{content-visibility:visible;display:block}a{text-decoration:none}"
    "}",
    NULL,
};
