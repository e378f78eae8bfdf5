// Package idem is the packed idempotency record and its pure BEGIN and
// COMPLETE transitions. It reads no clock and does no I/O.
package idem
