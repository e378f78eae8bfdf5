package config

// lettersPerEdit is how many letters of a name it takes for each edit that may
// lie between it and what was meant. With fewer a suggestion would be a guess.
const lettersPerEdit = 3

// nearest is the known name that name is a slip of the pen of, the first of
// equals in table order, with the edits between them; "" when none is near.
func nearest(name string) (best string, bestEdits int) {
	bestEdits = max(1, len(name)/lettersPerEdit) + 1
	for _, known := range names {
		if n := edits(name, known); n < bestEdits {
			best, bestEdits = known, n
		}
	}
	return best, bestEdits
}

// editsCompared bounds how much of a name edits looks at.
const editsCompared = 64

// edits counts the insertions, deletions, replacements and swaps of
// neighbours that turn a into b.
func edits(a, b string) int {
	a, b = a[:min(len(a), editsCompared)], b[:min(len(b), editsCompared)]
	// Three rows of the table of all prefixes: the one before last, the last,
	// the present one.
	older, old, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range old {
		old[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			change := 1
			if a[i-1] == b[j-1] {
				change = 0
			}
			row[j] = min(old[j]+1, row[j-1]+1, old[j-1]+change)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], older[j-2]+1)
			}
		}
		older, old, row = old, row, older
	}
	return old[len(b)]
}
