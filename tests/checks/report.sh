#!/bin/sh
# The page of a run in a browser: report.sh PROGRAM, where PROGRAM FOLDER [KIND] writes a run and its
# report. At the width of a desk and of a telephone, light and dark: nothing sticks out of the page, every
# picture has a size, figures of the table are there, texts can be read on what they stand on, nothing is
# fetched, no script but ours runs, and the console is silent.
set -eu

program=$1
chromium=${HS_CHROMIUM:-$(command -v chromium || command -v chromium-browser ||
    command -v google-chrome || true)}
if [ -z "$chromium" ]; then
    echo "skipped: Chromium is missing"
    exit 77
fi
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

fail() {
    echo "check_report: $*" >&2
    exit 1
}

# A script that is added to a copy of the page, and writes what it sees into it.
cat >"$folder/probe.html" <<'END'
<script id="probe">
const errors = [];
addEventListener('error', e => errors.push(e.message));
addEventListener('load', () => {
    const see = {}, root = document.documentElement;
    document.querySelectorAll('details').forEach(d => d.open = true);
    see.width = innerWidth;
    see.overflow = root.scrollWidth - root.clientWidth;
    see.images = document.images.length;
    see.broken = [...document.images].filter(i => !i.naturalWidth).length;
    const pictures = [...document.querySelectorAll('.picture svg')];
    see.pictures = pictures.length;
    see.empty = pictures.filter(s => s.getBoundingClientRect().width < 100).length;
    see.unnamed = [...document.querySelectorAll('.picture')].filter(
        d => !(d.getAttribute('aria-label') || '').trim()).length;
    see.scripts = document.scripts.length;
    see.fetched = performance.getEntriesByType('resource').length;
    see.tables = document.querySelectorAll('#tables table').length;
    see.dark = matchMedia('(prefers-color-scheme: dark)').matches;
    const channel = c => (c /= 255) <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
    const luminance = c => { const [r, g, b] = c.match(/[\d.]+/g).map(Number);
        return 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b); };
    const behind = e => { for (; e; e = e.parentElement) {
        const c = getComputedStyle(e).backgroundColor;
        if (!/, 0\)$/.test(c)) return c; } return 'rgb(255,255,255)'; };
    let least = 99;
    document.querySelectorAll('body *:not(svg *)').forEach(e => {
        if (![...e.childNodes].some(n => n.nodeType === 3 && n.data.trim())) return;
        if (['SCRIPT', 'STYLE', 'PRE'].includes(e.tagName)) return;
        const a = luminance(getComputedStyle(e).color), b = luminance(behind(e));
        least = Math.min(least, (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05));
    });
    see.contrast = least >= 4.5 ? 'enough' : 'low: ' + least.toFixed(2);
    see.errors = errors.length;
    const text = Object.entries(see).map(([k, v]) => 'seen ' + k + '=' + v).join('\n');
    const out = document.createElement('pre');
    out.textContent = text;
    document.body.append(out);
    if (parent !== window)
        parent.postMessage(text, '*');
});
</script>
END

# A browser's window is at least 500 wide: a narrow page is shown in a frame, which reports to this one.
cat >"$folder/frame.html" <<'END'
<meta name="color-scheme" content="light dark"><title>frame</title>
<link rel="icon" href="data:,"><pre></pre>
<script>addEventListener('message', e => document.querySelector('pre').textContent = e.data);</script>
END

# browse COLOURS PAGE: the page as the browser has it, in dom; what the console said, in log.
browse() {
    scheme=1
    [ "$1" = dark ] && scheme=0
    "$chromium" --headless --no-sandbox --disable-gpu --disable-dev-shm-usage \
        --user-data-dir="$folder/profile" --hide-scrollbars --window-size=1280,900 \
        --blink-settings=preferredColorScheme=$scheme --enable-logging=stderr \
        --virtual-time-budget=4000 --dump-dom "file://$2" \
        >"$folder/dom" 2>"$folder/log" || fail "the browser failed: $(tail -3 "$folder/log")"
}

expect() {
    grep -qx "seen $1" "$folder/seen" ||
        fail "$kind at $width, $colours: expected $1, seen: $(tr '\n' ' ' <"$folder/seen")"
}

for kind in plain hostile partial; do
    run=$folder/$kind
    mkdir "$run"
    "$program" "$run" $kind >/dev/null || fail "the report of the run was not written"
    size=$(wc -c <"$run/report.html")
    [ "$size" -lt 6000000 ] || fail "the page of the $kind run has $size bytes"
    if grep -E '(src|href)="?(https?:)?//' "$run/report.html" | grep -qv w3.org; then
        fail "the page of the $kind run points to another host"
    fi
    sed '/^<head>$/r '"$folder/probe.html" "$run/report.html" >"$run/probe.html"
    looks='390:light 1280:light'
    [ $kind = plain ] && looks='390:light 390:dark 1280:dark 1280:light'
    for look in $looks; do
        width=${look%:*}
        colours=${look#*:}
        page=$run/probe.html
        if [ "$width" -lt 500 ]; then
            page=$run/frame.html
            cat "$folder/frame.html" >"$page"
            echo "<iframe src=probe.html style='width:${width}px;height:900px;border:0'></iframe>" >>"$page"
        fi
        browse "$colours" "$page"
        grep -o 'seen [a-z]*=[^<]*' "$folder/dom" >"$folder/seen" ||
            fail "$kind at $width: the page did not load"
        expect "width=$width"
        expect overflow=0
        expect images=0
        expect broken=0
        expect empty=0
        expect unnamed=0
        expect scripts=1
        expect fetched=0
        expect tables=2
        expect contrast=enough
        expect errors=0
        [ "$colours" = light ] && expect dark=false || expect dark=true
        pictures=$(sed -n 's/^seen pictures=//p' "$folder/seen")
        [ "$pictures" -ge 20 ] || fail "$kind at $width: only $pictures pictures"
        if grep 'CONSOLE' "$folder/log" >&2; then
            fail "$kind at $width: the console has messages"
        fi
    done
    # Every figure of the tables, ours and the paper's, is in the page that the browser has.
    sed -n '/^| [^|]* | [-0-9]/p' "$run/result.md" | tr '|' '\n' | sed 's/[ ✓≈✗]//g' |
        grep -E '^[0-9][0-9.]*(\([0-9]+\))?(e-?[0-9]+)?$' | sort -u >"$folder/figures"
    [ "$(wc -l <"$folder/figures")" -ge 40 ] || fail "$kind: too few figures in result.md"
    while read -r figure; do
        grep -qF ">$figure<" "$folder/dom" || fail "$kind: $figure is not in the page"
    done <"$folder/figures"
done
grep -q 'This run is partial' "$folder/dom" || fail "a partial run does not say so"
echo "checked in $chromium"
