// Package e2e tests the real binary from outside, as its users meet it: client
// libraries in Go and Node, redis-cli and redis-benchmark, signals, crashes,
// hostile connections, broken disks. It is a module of its own, so that no
// client library comes near the server's go.mod.
//
// Each test starts servers of its own on free loopback ports in temporary
// directories, and ends them by their process id.
package e2e
