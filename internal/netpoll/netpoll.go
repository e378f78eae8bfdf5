// Package netpoll is readiness of sockets behind a small interface.
package netpoll
