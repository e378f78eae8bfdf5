// Package inspect reads data directories for the subcommands of the server
// binary: check, dump, stat, repair, restore. It never opens a store for
// serving.
package inspect
