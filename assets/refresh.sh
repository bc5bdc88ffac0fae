#!/usr/bin/env bash
# Downloads the pinned packages from the npm registry and repacks the files that the server embeds.
# To move to another version: change it here, run `make assets`, copy the printed table into README.md,
# and look at /docs and /redoc with the network cut.
set -euo pipefail
cd "$(dirname "$0")"

SWAGGER=5.35.0
REDOC=2.5.4

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# take PACKAGE VERSION: leaves the unpacked package in $work/PACKAGE.
take() {
    (cd "$work" && npm pack --silent --ignore-scripts "$1@$2" >/dev/null)
    mkdir "$work/$1"
    tar -xzf "$work/$1-$2.tgz" -C "$work/$1" --strip-components=1
}

# keep SOURCE TARGET: -n omits name and time, so that the same package produces the same bytes.
keep() {
    mkdir -p "$(dirname "$2")"
    gzip -9nc "$work/$1" >"$2"
    printf '| `%s` | %s | `%s` |\n' "$2" "$(wc -c <"$work/$1")" "$(sha256sum "$work/$1" | cut -d' ' -f1)"
}

take swagger-ui-dist "$SWAGGER"
take redoc "$REDOC"

keep swagger-ui-dist/swagger-ui-bundle.js swagger-ui/swagger-ui-bundle.js.gz
keep swagger-ui-dist/swagger-ui.css swagger-ui/swagger-ui.css.gz
keep redoc/bundles/redoc.standalone.js redoc/redoc.standalone.js.gz

# The licences that the packages carry for themselves and for what they bundle.
cp "$work/swagger-ui-dist/LICENSE" swagger-ui/LICENSE
cp "$work/swagger-ui-dist/swagger-ui-bundle.js.LICENSE.txt" swagger-ui/BUNDLED-LICENSES.txt
cp "$work/redoc/LICENSE" redoc/LICENSE
cp "$work/redoc/bundles/redoc.standalone.js.LICENSE.txt" redoc/BUNDLED-LICENSES.txt
