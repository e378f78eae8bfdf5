#!/usr/bin/env bash
# Go benchmarks of the working tree beside those of a git reference, in turns,
# compared by benchstat: tools/bench-compare.sh REF [packages]
set -euo pipefail
cd "$(dirname "$0")/.."
ref=$1
packages=${2:-./internal/...}
count=${COUNT:-6}
tmp=$(mktemp -d)
trap 'git worktree remove --force "$tmp/old" 2>/dev/null; rm -rf "$tmp"' EXIT
git worktree add --quiet --detach "$tmp/old" "$ref"
for i in $(seq "$count"); do
	for side in old new; do
		dir=.
		[ "$side" = old ] && dir=$tmp/old
		echo "run $i of $count: $side" >&2
		(cd "$dir" && go test -run '^$' -bench "${BENCH:-.}" -benchmem $packages) >>"$tmp/$side.txt"
	done
done
go tool -modfile=tools/go.mod benchstat "$ref=$tmp/old.txt" "here=$tmp/new.txt"
