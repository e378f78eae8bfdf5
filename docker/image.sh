#!/usr/bin/env bash
# Builds the final stage of the Dockerfile from a static binary compiled here,
# on an empty base: nothing is pulled. Uses docker where its daemon answers,
# buildah otherwise. IMAGE names the result (default hapax:VERSION and hapax:latest).
set -euo pipefail
cd "$(dirname "$0")/.."
version=${1:-unknown}
image=${IMAGE:-hapax:$version}
tags=(--tag "$image")
[ -n "${IMAGE:-}" ] || tags+=(--tag hapax:latest)

# What the Dockerfile's build stage would have made.
stage=bin/image
rm -rf "$stage"
mkdir -p "$stage/data"
CGO_ENABLED=0 GOOS=linux go build -trimpath -ldflags "-s -w -X main.version=$version" -o "$stage/hapax-server" ./cmd/server

if docker version >/dev/null 2>&1 && docker buildx version >/dev/null 2>&1; then
	docker buildx build --load --build-context "build=$stage" "${tags[@]}" .
elif command -v buildah >/dev/null; then
	# The docker format keeps HEALTHCHECK, which the OCI one has no place for.
	buildah --storage-driver "${STORAGE_DRIVER:-vfs}" build --isolation chroot --format docker \
		--build-context "build=$stage" "${tags[@]}" .
else
	echo "neither a docker daemon with buildx nor buildah is here" >&2
	exit 1
fi
echo "built $image"
