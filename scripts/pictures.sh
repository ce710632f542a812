#!/usr/bin/env bash
# Creates the pictures in docs/pictures from the running program, on the simulated CLI.
#
#   scripts/pictures.sh                 all of them
#   scripts/pictures.sh run loop …      only these: run, chat, loop, bridge (terminal), page (with phone)
#
# Needs a built weir (WEIR_BIN selects another one than target/debug/weir), tmux, git, Node.js and Chromium: `make
# pictures` installs all of them.
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=scripts/common.sh
source scripts/common.sh

weir=$(realpath "${WEIR_BIN:-${CARGO_TARGET_DIR:-target}/debug/weir}")
pictures=$PWD/docs/pictures
tools=$PWD/web/scripts
columns=92
rows=44

pause() { read -rt 0.1 <> <(:) || true; }

place=$(mktemp -d "${TMPDIR:-/tmp}/weir-pictures.XXXXXX")
socket=$place/tmux
demo=
cleanup() {
    local status=$?
    tmux -S "$socket" kill-server 2>/dev/null || true
    if [[ -n $demo ]]; then
        kill -TERM "$demo" 2>/dev/null || true
        wait "$demo" 2>/dev/null || true
    fi
    # Programs in the terminal may still be writing.
    until rm -rf "$place" 2>/dev/null; do pause; done
    exit "$status"
}
trap cleanup EXIT

fail() {
    echo "pictures: $*" >&2
    exit 1
}

# A home with a small project that shows nothing of this machine.
mkdir -p "$place/bin" "$place/home/projects/mill/src"
ln -s "$weir" "$place/bin/weir"
ln -s "$weir" "$place/bin/simulated-claude"
echo "PS1='$ '" >"$place/bashrc"
cat >"$place/home/.gitconfig" <<'GIT'
[user]
    name = Ann
    email = ann@example.org
[init]
    defaultBranch = main
GIT
cat >"$place/home/projects/mill/Makefile" <<'MAKE'
test:
	@echo "running 12 tests"
	@echo "test result: ok. 12 passed; 0 failed"
MAKE
echo 'A mill that grinds numbers.' >"$place/home/projects/mill/README.md"
echo 'pub fn grind(grain: &[u64]) -> u64 { grain.iter().sum() }' >"$place/home/projects/mill/src/lib.rs"

environment=(env -i HOME="$place/home" PATH="$place/bin:/usr/bin:/bin" LANG=C.UTF-8 TERM=xterm-256color COLORTERM=truecolor
    WEIR_CLAUDE="$place/bin/simulated-claude" SIMULATED_CLAUDE_PACE=0 SIMULATED_CLAUDE_SEED=mill
    SIMULATED_CLAUDE_SCRIPT="$place/script.json")
inside() { "${environment[@]}" "$@"; }
(
    cd "$place/home/projects/mill"
    inside git init --quiet
    inside git add --all
    inside git commit --quiet --message "Grind numbers"
)

# screen: what the terminal shows, with colours. Some messages contain the full path of the home.
screen() { tmux -S "$socket" capture-pane -e -p -t picture | sed "s,$place/home,~,g"; }

# wait_for <text>: waits until the terminal shows it.
wait_for() {
    local deadline=$((SECONDS + 60))
    until tmux -S "$socket" capture-pane -p -t picture | grep -qF -- "$1"; do
        ((SECONDS < deadline)) || { tmux -S "$socket" capture-pane -p -t picture >&2; fail "'$1' did not appear"; }
        pause
    done
}

keys() { tmux -S "$socket" send-keys -t picture "$@"; }
type_line() { keys -l "$1"; keys Enter; }

begin() {
    tmux -S "$socket" kill-server 2>/dev/null || true
    inside tmux -S "$socket" -f /dev/null new-session -d -s picture -x "$columns" -y "$rows" \
        -c "$place/home/projects/mill" "bash --rcfile $place/bashrc"
    tmux -S "$socket" set-option -t picture status off
    wait_for '$'
}

end() {
    screen | COLUMNS=$columns node "$tools/terminal-picture.mjs" "~/projects/mill" >"$pictures/$1.svg"
    tmux -S "$socket" kill-server
    if grep -qF -- "$place" "$pictures/$1.svg"; then fail "$1.svg contains a path of this machine"; fi
    echo "pictures: $1.svg ($(wc -c <"$pictures/$1.svg") bytes)"
}

picture_run() {
    cat >"$place/script.json" <<'JSON'
[{"text":"I'll run the tests first.","tool":"Bash","input":{"command":"make test","description":"Run the tests"}},
 {"text":"All 12 tests pass. `grind` has no test for an empty slice; it returns 0 there."}]
JSON
    begin
    type_line 'weir run "Run the tests. What do they leave out?"'
    wait_for 'A number, or'
    type_line 1
    wait_for 'session'
    type_line 'weir run --no-input -o json "Once more" > answer.json; echo "exit code $?"'
    wait_for 'exit code 6'
    end run
}

picture_chat() {
    cat >"$place/script.json" <<'JSON'
[[{"tool":"Bash","input":{"command":"ls","description":"List files"}},
  {"text":"A Makefile, a README and `src/lib.rs` with one function, **grind**, which adds up a slice of numbers."}],
 [{"tool":"Edit","input":{"file_path":"README.md","old_string":"A mill that grinds numbers.","new_string":"A mill that grinds numbers.\n\nRun `make test` to test it."}},
  {"text":"Done: the README says how to run the tests."}]]
JSON
    begin
    type_line 'weir chat --permission-mode acceptEdits --allowed-tools "Bash(ls),Read"'
    wait_for 'Ctrl-D quits'
    type_line 'Which files are here?'
    wait_for 'tool call'
    type_line 'Describe the tests in the README.'
    wait_for 'Done: the README'
    keys -l /quit
    wait_for '> /quit'
    end chat
    (cd "$place/home/projects/mill" && inside git checkout --quiet .)
}

picture_loop() {
    cat >"$place/script.json" <<'JSON'
[[{"tool":"Bash","input":{"command":"echo \"$RANDOM\" >> notes.md","description":"Write"}},{"text":"Done."}]]
JSON
    (
        cd "$place/home/projects/mill"
        inside weir loop init >/dev/null
        cat >TASKS.md <<'TASKS'
- [ ] Test grind on an empty slice {#empty}
- [ ] Return an error when the sum overflows {#overflow}
- [ ] Describe grind in the README {#readme}
TASKS
        inside git add --all
        inside git commit --quiet --message "Plan the work"
    )
    begin
    type_line 'weir loop run; git log --oneline'
    wait_for 'Grind numbers'
    end loop
}

picture_bridge() {
    cat >"$place/script.json" <<'JSON'
[{"text":"I'll add a test for it.","tool":"Write","input":{"file_path":"tests/empty.rs","content":"#[test]\nfn nothing_grinds_to_zero() {\n    assert_eq!(mill::grind(&[]), 0);\n}\n"}},
 {"text":"`tests/empty.rs` checks that an empty slice grinds to zero."}]
JSON
    begin
    type_line 'weir bridge try --simulated'
    wait_for '/help'
    type_line 'grind has no test for an empty slice. Add one, please.'
    wait_for '2. Deny'
    type_line 1
    wait_for 'grinds to zero.'
    end bridge
}

picture_page() {
    local ready=$place/ready.json
    # Without a script the tour is played. Not via `inside`: a function in the background is a shell, which would get
    # the signal.
    "${environment[@]}" env -u SIMULATED_CLAUDE_SCRIPT weir demo --no-open --ready-file "$ready" 2>/dev/null &
    demo=$!
    local deadline=$((SECONDS + 60))
    until [[ -s $ready ]]; do
        ((SECONDS < deadline)) || fail "the demo did not start"
        pause
    done
    (cd web && node scripts/page-pictures.mjs "$ready" "$pictures")
    kill -TERM "$demo"
    wait "$demo" || true
    demo=
    for name in page phone; do echo "pictures: $name.png ($(wc -c <"$pictures/$name.png") bytes)"; done
}

if [[ $# -eq 0 ]]; then set -- run chat loop bridge page; fi
for name in "$@"; do
    case "$name" in
        run | chat | loop | bridge | page) "picture_$name" ;;
        *) fail "unknown picture '$name'; known: run, chat, loop, bridge, page" ;;
    esac
done
