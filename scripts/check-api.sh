#!/usr/bin/env bash
# Checks a running server against its own description, with valid and invalid requests generated from the OpenAPI
# document. No response may be a server error, have an undocumented status, or have a body of a different shape.
#
#   scripts/check-api.sh              some minutes
#   scripts/check-api.sh --quick      less of everything
#
# WEIR selects a program to check instead of building one.
#
# The tool is schemathesis, in a virtual environment in the cache: $WEIR_CACHE, else $XDG_CACHE_HOME/weir, else
# ~/.cache/weir. pip's own configuration decides where it comes from.
set -euo pipefail
cd "$(dirname "$0")/.."

version=4.32.5
examples=40
if [[ "${1:-}" == --quick ]]; then examples=8; fi

cache=${WEIR_CACHE:-${XDG_CACHE_HOME:-${HOME:?set HOME or WEIR_CACHE}/.cache}/weir}
home=$cache/python/schemathesis-$version
if [[ ! -x "$home/bin/schemathesis" ]]; then
    command -v python3 >/dev/null 2>&1 || {
        echo "check-api: python3 not found. On Debian: apt-get install python3-venv" >&2
        exit 1
    }
    echo "check-api: installing schemathesis $version"
    mkdir -p "$cache/python"
    rm -rf "$home"
    python3 -m venv "$home"
    "$home/bin/pip" install --quiet --disable-pip-version-check "schemathesis==$version" || {
        rm -rf "$home"
        exit 1
    }
fi

if [[ -z "${WEIR:-}" ]]; then
    # Built like the tests, so that nothing is built twice.
    cargo build --quiet --locked --bins
fi
weir=$(realpath "${WEIR:-${CARGO_TARGET_DIR:-target}/debug/weir}")
work=$(mktemp -d)
server=
cleanup() {
    if [[ -n "$server" ]]; then
        # Twice: the second signal does not wait for turns.
        kill -TERM "$server" 2>/dev/null || true
        sleep 0.2
        kill -TERM "$server" 2>/dev/null || true
        wait "$server" 2>/dev/null || true
    fi
    rm -rf "$work"
}
trap cleanup EXIT
mkdir "$work/home" "$work/workspace"
ln -s "$weir" "$work/simulated-claude"
# There is no user to answer the simulated CLI's requests, so a client of the OpenAI front must not wait for that.
env -i PATH="$PATH" HOME="$work/home" SIMULATED_CLAUDE_PACE=0 "$weir" serve --listen 127.0.0.1:0 --unattended-ask-timeout 1s \
    --data-dir "$work/data" --root "$work/workspace" --claude "$work/simulated-claude" \
    --ready-file "$work/ready.json" --requests-per-minute 1000000 2>"$work/log" &
server=$!
for _ in $(seq 300); do
    [[ -f "$work/ready.json" ]] && break
    kill -0 "$server" 2>/dev/null || { cat "$work/log" >&2; exit 1; }
    sleep 0.1
done
read -r url token < <(python3 -c \
    'import json, sys; ready = json.load(open(sys.argv[1])); print(ready["url"], ready["token"])' "$work/ready.json")

post() {
    curl --silent --show-error --fail -H "Authorization: Bearer $token" -H "Content-Type: application/json" \
        --data "$2" "$url$1"
}
session=$(post /v1/sessions "{\"cwd\":\"$work/workspace\",\"key\":\"check\"}" |
    python3 -c 'import json, sys; print(json.load(sys.stdin)["id"])')
post "/v1/sessions/$session/messages" '{"client_id":"1","text":"@@[{\"text\":\"Hello\"}]"}' >/dev/null

# Once with an existing session, once with whatever the tool makes up.
for round in known any; do
    {
        echo "headers = { Authorization = \"Bearer $token\" }"
        if [[ $round == known ]]; then echo "parameters = { \"path.id\" = \"$session\" }"; fi
    } >"$work/$round.toml"
    # Streams do not end by themselves; a deleted session would be missing for the next request.
    skip='/events$'
    if [[ $round == known ]]; then skip='/events$|^/v1/sessions/\{id\}$'; fi
    echo "check-api: session ids: $round"
    # One worker: Python 3.11 may fail to parse source in two threads at once, and the tool does that.
    "$home/bin/schemathesis" --config-file "$work/$round.toml" run "$url/openapi.json" --exclude-path-regex "$skip" \
        --checks not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance,unsupported_method,negative_data_rejection \
        --phases examples,coverage,fuzzing --max-examples "$examples" --seed 7 --workers 1 --request-timeout 60 \
        --suppress-health-check all --warnings off
done

if grep -q panicked "$work/log"; then
    cat "$work/log" >&2
    exit 1
fi
kill -0 "$server" || { echo "check-api: the server is gone" >&2; exit 1; }
