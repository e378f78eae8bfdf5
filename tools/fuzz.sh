#!/usr/bin/env bash
# Runs every fuzz target of the tree for a while each, one after the other.
# A plain `go test` already runs the committed seeds; this looks a little further.
set -euo pipefail
cd "$(dirname "$0")/.."
time=${1:-3s}
found=0
while IFS=: read -r file target; do
	found=$((found + 1))
	echo "== $target (./$(dirname "$file"))"
	go test -run '^$' -fuzz "^${target}\$" -fuzztime "$time" "./$(dirname "$file")"
done < <(git ls-files '*_test.go' | grep -v '^e2e/' | xargs grep -HoE '^func Fuzz[A-Za-z0-9_]+' | sed 's/func //')
if [ "$found" -eq 0 ]; then
	echo "no fuzz target found" >&2
	exit 1
fi
echo "$found fuzz targets"
