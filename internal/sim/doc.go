// Package sim is the seeded crash simulation: server and engine on one
// goroutine, a manual clock, a file system that loses and breaks things.
// Tests only.
package sim
