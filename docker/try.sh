#!/usr/bin/env bash
# Builds the image and runs it with buildah, where no container engine is at hand
# (chroot isolation, the host's network): as the right user, with flags, with a
# file, behind a name that command lines for Redis's image carry, with its health
# check. Needs root, buildah and redis-cli.
set -euo pipefail
cd "$(dirname "$0")/.."
image=hapax:try
port=${PORT:-7399}
b=(buildah --storage-driver "${STORAGE_DRIVER:-vfs}")
IMAGE=$image docker/image.sh try
container=$("${b[@]}" from "localhost/$image")
log=$(mktemp)
cleanup() {
	# A server that a failed check left behind; it takes the port of the next run.
	if [[ -n ${served:-} ]] && kill "$served" 2>/dev/null; then
		wait "$served" || true
	fi
	"${b[@]}" rm "$container" >/dev/null
	"${b[@]}" rmi "localhost/$image" >/dev/null
	rm -f "$log"
}
trap cleanup EXIT

# What a check expects of the running server, or fail with its log.
expect() {
	local want=$1
	shift
	local got
	got=$("$@" 2>&1) || true
	if [[ $got != *"$want"* ]]; then
		echo "$*: got '$got', want '$want'" >&2
		cat "$log" >&2
		exit 1
	fi
	echo "ok: $*"
}

# serve ARGUMENTS runs the entry point until stop.
serve() {
	"${b[@]}" run --isolation chroot "$container" -- /hapax-server "$@" >"$log" 2>&1 &
	served=$!
	for _ in $(seq 100); do
		grep -q "Ready to accept connections" "$log" && return
		sleep 0.1
	done
	echo "it never answered" >&2
	cat "$log" >&2
	exit 1
}

stop() {
	redis-cli -p "$port" "$@" shutdown
	wait || true
}

serve --port "$port" --maxmemory 100mb
expect acquired redis-cli -p "$port" idem order:42 begin digest attempt 600000
expect 104857600 redis-cli -p "$port" config get maxmemory
expect /data redis-cli -p "$port" config get dir
expect PONG "${b[@]}" run --isolation chroot --env HAPAX_PORT="$port" "$container" -- /hapax-server --healthcheck
pid=$(redis-cli -p "$port" info server | tr -d '\r' | sed -n 's/^process_id://p')
expect 65532 awk '/^Uid:/{print $2}' "/proc/$pid/status"
stop

root=$("${b[@]}" mount "$container")
printf 'requirepass fromfile\nport %s\n' "$port" >"$root/redis.conf"
chmod 644 "$root/redis.conf"
serve /redis.conf
expect pending redis-cli -p "$port" -a fromfile --no-auth-warning idem order:42 begin digest another 600000
stop -a fromfile --no-auth-warning

serve redis-server --port "$port"
expect PONG redis-cli -p "$port" ping
stop

# A backup is copied out, restored into another directory by the image, and served.
# Not below /data: buildah keeps volumes where they can't be seen from here.
mkdir "$root/kept" "$root/fresh"
chown 65532 "$root/kept" "$root/fresh"
serve --port "$port" --dir /kept
expect acquired redis-cli -p "$port" idem order:43 begin digest attempt 600000
expect OK redis-cli -p "$port" save
stop
cp -p "$root"/kept/snapshot/snap-*.hsnap "$root/backup.hsnap"
expect "restored 1 keys" "${b[@]}" run --isolation chroot "$container" -- /hapax-server restore /backup.hsnap --dir /fresh
serve --port "$port" --dir /fresh
expect pending redis-cli -p "$port" idem order:43 begin digest another 600000
stop
