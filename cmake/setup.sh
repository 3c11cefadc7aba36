# What ./run and ./test share; both source it, from the root of the tree.

say() {
    printf '%s\n' "$*" >&2
}

# need [COMMAND:]PACKAGE...: installs the Debian packages that are not there. With COMMAND, the
# package counts as there if the command is, wherever it came from.
need() {
    command -v dpkg-query >/dev/null || return 0 # not a Debian: CMake will say what it misses
    missing=
    for package; do
        case $package in
        *:*) command -v "${package%%:*}" >/dev/null && continue ;;
        esac
        package=${package#*:}
        status=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null) || status=
        case $status in
        installed*) ;;
        *) missing="$missing $package" ;;
        esac
    done
    [ -n "$missing" ] || return 0
    if [ "$(id -u)" = 0 ]; then
        as_root=
    elif command -v sudo >/dev/null; then
        as_root="sudo"
    else
        say "These packages are missing, and installing them needs root:$missing"
        say "Have them installed with: apt-get install$missing"
        exit 1
    fi
    say "Installing$missing"
    log=$(mktemp)
    # shellcheck disable=SC2086
    if ! { $as_root apt-get update && $as_root env DEBIAN_FRONTEND=noninteractive \
        apt-get install -y --no-install-recommends $missing; } >"$log" 2>&1; then
        cat "$log" >&2
        say "Installing failed; the packages that are needed:$missing"
        exit 1
    fi
    rm -f "$log"
}

need_for_building() {
    need gcc:gcc g++:g++ libc6-dev cmake:cmake ninja:ninja-build pkg-config:pkg-config \
        libopenblas-pthread-dev libsleef-dev librandom123-dev zlib1g-dev check \
        libjansson-dev libcairo2-dev libnetcdf-dev
}

# Clang with its sanitizers, its fuzzer and its OpenMP.
need_clang() {
    need clang:clang
    version=$(clang -dumpversion)
    need "libomp-${version%%.*}-dev" "libclang-rt-${version%%.*}-dev"
}

# configure PRESET: if need be.
configure() {
    options=
    [ "$1" = release ] && [ -n "${CI:-}" ] && options=-DHS_WERROR=ON
    if [ -n "$options" ] || [ ! -e "build/$1/build.ninja" ] ||
        [ -n "$(find CMakePresets.json -newer "build/$1/build.ninja")" ]; then
        mkdir -p build
        # shellcheck disable=SC2086
        cmake --preset "$1" $options >"build/$1.log" 2>&1 || {
            cat "build/$1.log" >&2
            exit 1
        }
    fi
}

# build PRESET [TARGET...]: configures if need be, and builds.
build() {
    preset=$1
    shift
    configure "$preset"
    if [ ! -e "build/$preset/libhastings.a" ]; then
        say "Building build/$preset, which takes a minute or a few the first time"
    fi
    quiet=
    [ -t 1 ] || quiet="-- --quiet"
    # shellcheck disable=SC2086
    cmake --build "build/$preset" ${1:+--target "$@"} $quiet >&2
}
