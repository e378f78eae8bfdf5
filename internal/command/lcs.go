package command

import "math/bits"

// common is the longest common subsequence of two strings, by the bit-parallel
// form of the dynamic programme: with L(i,j) the length for the first i bytes
// of a and j of b, a row of the usual table is kept as the bits
// "L(i,j) = L(i,j-1)", computed 64 at a time.
//
// Going back from the end, the usual table is asked whether L(i-1,j) is
// greater than L(i,j-1) where the bytes differ. L(i,j) is then the greater of
// the two, so the answer is yes exactly when L(i,j) > L(i,j-1): the bit is
// clear. One bit a cell does, where Redis has 32.
type common struct {
	a, b   []byte
	words  int      // of a row while it is computed
	table  []uint64 // row i, from 1, in the bits from i*len(b); nil when only the length is asked for
	last   []uint64 // row len(a)
	length int
}

// newCommon computes the length, and the table when it is to be walked.
func newCommon(a, b []byte, walk bool) *common {
	s := &common{a: a, b: b, words: (len(b) + 63) / 64}
	masks, of := s.masks()
	s.last = make([]uint64, s.words)
	for w := range s.last {
		s.last[w] = ^uint64(0) // row 0: no common byte
	}
	if walk {
		s.table = make([]uint64, ((len(a)+1)*len(b)+63)/64+1)
	}
	for i, c := range a {
		mask := masks[of[c]*s.words:][:s.words]
		step(s.last, mask)
		if walk {
			s.store(i + 1)
		}
	}
	s.length = s.count()
	return s
}

// masks says, for each byte value that occurs in a, where in b it stands; of
// numbers them. There are no more masks than bytes in a, so that they never
// take more than the table.
func (s *common) masks() (masks []uint64, of [256]int) {
	var occurs [256]bool
	distinct := 0
	for _, c := range s.a {
		if !occurs[c] {
			occurs[c], of[c] = true, distinct
			distinct++
		}
	}
	masks = make([]uint64, distinct*s.words)
	for j, c := range s.b {
		if occurs[c] {
			masks[of[c]*s.words+j/64] |= 1 << (j % 64)
		}
	}
	return masks, of
}

// step makes a row from the one before it: (row + row&mask) | row&^mask, as
// one long addition.
func step(row, mask []uint64) {
	var carry uint64
	for w, r := range row {
		var sum uint64
		sum, carry = bits.Add64(r, r&mask[w], carry)
		row[w] = sum | r&^mask[w]
	}
}

// store keeps the last row as row i. Rows lie bit to bit: rounded up to words
// they would take 64 times as much for a b of one byte.
func (s *common) store(i int) {
	at := i * len(s.b)
	for w, r := range s.last {
		if left := len(s.b) - w*64; left < 64 {
			r &= 1<<left - 1
		}
		s.table[at/64] |= r << (at % 64)
		s.table[at/64+1] |= r >> (64 - at%64) // a shift by 64 gives 0
		at += 64
	}
}

// count is L(len(a), len(b)): the steps of the last row, its clear bits.
func (s *common) count() int {
	equal := 0
	for w, r := range s.last {
		if left := len(s.b) - w*64; left < 64 {
			r &= 1<<left - 1
		}
		equal += bits.OnesCount64(r)
	}
	return len(s.b) - equal
}

// up says L(i-1,j) > L(i,j-1) for bytes that differ.
func (s *common) up(i, j int) bool {
	at := i*len(s.b) + j - 1
	return s.table[at/64]>>(at%64)&1 == 0
}

// span is a run of common bytes: where it starts in a and in b, its length.
type span struct{ inA, inB, length int }

// walk calls found for every run of common bytes, from the end of the strings
// to their beginning.
func (s *common) walk(found func(span)) {
	var run span
	end := func() {
		if run.length > 0 {
			found(run)
			run.length = 0
		}
	}
	i, j := len(s.a), len(s.b)
	for i > 0 && j > 0 {
		switch {
		case s.a[i-1] == s.b[j-1]:
			i--
			j--
			run = span{inA: i, inB: j, length: run.length + 1}
			continue
		case s.up(i, j):
			i--
		default:
			j--
		}
		end()
	}
	end()
}
