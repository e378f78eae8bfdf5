package config

import (
	"math"
	"strconv"
	"strings"
)

// memoryUnits are the suffixes of a memory size; k, m and g count in
// thousands, kb, mb and gb in 1024s.
var memoryUnits = map[string]int64{
	"": 1, "b": 1,
	"k": 1000, "kb": 1 << 10,
	"m": 1000 * 1000, "mb": 1 << 20,
	"g": 1000 * 1000 * 1000, "gb": 1 << 30,
}

// parseMemory reads a size such as 64mb. Redis also takes a unit without a
// number, and nothing at all, for 0; here they are mistakes.
func parseMemory(s string) (bytes int64, ok bool) {
	digits := len(s)
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			digits = i
			break
		}
	}
	unit, known := memoryUnits[strings.ToLower(s[digits:])]
	n, err := strconv.ParseInt(s[:digits], 10, 64)
	if !known || err != nil || n > math.MaxInt64/unit {
		return 0, false
	}
	return n * unit, true
}

// formatMemory writes a size with the largest unit that keeps it whole.
func formatMemory(bytes int64) string {
	for _, unit := range []string{"gb", "mb", "kb"} {
		if size := memoryUnits[unit]; bytes != 0 && bytes%size == 0 {
			return strconv.FormatInt(bytes/size, 10) + unit
		}
	}
	return strconv.FormatInt(bytes, 10)
}
