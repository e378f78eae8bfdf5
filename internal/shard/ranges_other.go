//go:build !linux

package shard

func releaseRanges(ranges []memoryRange) { releaseEach(ranges) }
