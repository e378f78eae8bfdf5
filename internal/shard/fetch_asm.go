//go:build (amd64 || arm64) && !purego

package shard

import "unsafe"

// fetch asks the processor to bring count lines from each address on into its
// caches, and waits for none. It reads nothing, so that an address can be any
// at all. A load in its place holds up what follows until it has come: with
// loads a GET in pipelines of 64 took a fifth longer.
//
// One call fetches for many keys since Go inlines no assembly.
//
//go:noescape
func fetch(at []unsafe.Pointer, count int)
