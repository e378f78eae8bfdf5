# The server on an empty base. `docker build -t hapax .` compiles it here;
# `make image` replaces the build stage by the local static binary, so no registry
# is needed.

FROM golang:1.26 AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY cmd cmd
COPY internal internal
ARG VERSION=unknown
RUN CGO_ENABLED=0 go build -trimpath -ldflags "-s -w -X main.version=${VERSION}" -o /hapax-server ./cmd/server \
 && mkdir /data

FROM scratch
COPY --from=build /hapax-server /hapax-server
COPY --from=build --chown=65532:65532 /data /data

# Inside a container only what is published reaches the server, so it listens on
# every address and protected mode is off, as in the official Redis image. Set
# HAPAX_REQUIREPASS before publishing the port beyond this machine.
ENV HAPAX_BIND="* -::*" \
    HAPAX_PROTECTED_MODE=no

USER 65532:65532
VOLUME /data
WORKDIR /data
EXPOSE 6379
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=3s --start-period=60s CMD ["/hapax-server", "--healthcheck"]
ENTRYPOINT ["/hapax-server"]
