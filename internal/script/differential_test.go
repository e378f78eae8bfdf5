package script

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const (
	differentialSeeds = 6
	differentialSteps = 3000
)

// seedVariable repeats a run: the number behind "seed" in a test's name.
const seedVariable = "HAPAX_SEED"

// firstSeed is the first seed of the test run, another one each time.
func firstSeed(t *testing.T) uint64 {
	text := os.Getenv(seedVariable)
	if text == "" {
		return rand.Uint64()
	}
	seed, err := strconv.ParseUint(text, 10, 64)
	require.NoError(t, err, seedVariable)
	return seed
}

// TestDifferential runs random commands on Hapax and on redis-server in
// lockstep; every reply and the whole state at the end must be equal.
func TestDifferential(t *testing.T) {
	base := firstSeed(t)
	for i := range uint64(differentialSeeds) {
		seed := base + i
		proto := int(2 + seed/2%2) // the seed's lowest bit chooses the commands
		t.Run(fmt.Sprintf("seed%d", seed), func(t *testing.T) {
			t.Parallel()
			o := startOracle(t)
			redis, err := o.Dial()
			require.NoError(t, err)
			hapax, err := startMemory(t, localOptions{shards: 4, systemClock: true}).Dial()
			require.NoError(t, err)
			lockstep(t, newGenerator(seed), proto, hapax, redis)
		})
	}
}

// lockstep is one run.
func lockstep(t *testing.T, g *generator, proto int, hapax, redis Conn) {
	defer hapax.Close()
	defer redis.Close()
	if proto == 3 {
		for _, c := range []Conn{hapax, redis} {
			_, err := Do(c, "HELLO", "3")
			require.NoError(t, err)
		}
	}
	var past []string
	compare := func(args []string) {
		past = append(past, fmt.Sprintf("%q", args))
		h, err := Do(hapax, args...)
		require.NoError(t, err)
		r, err := Do(redis, args...)
		require.NoError(t, err)
		if !alike(args, h, r) {
			t.Fatalf("%q\nhapax: %s\nredis: %s\nbefore it:\n%s", args, h, r,
				strings.Join(past[max(0, len(past)-40):], "\n"))
		}
	}
	for range differentialSteps {
		compare(g.next())
	}
	for db := range 3 {
		compare([]string{"SELECT", fmt.Sprint(db)})
		for k := range 6 {
			key := fmt.Sprintf("k%d", k)
			compare([]string{"GET", key})
			compare([]string{"PEXPIRETIME", key})
		}
		compare([]string{"DBSIZE"})
	}
}

// clockToleranceMilli is how far two deadlines may be apart that each server
// computed from its own clock. Generated times are further apart than that.
const clockToleranceMilli = 20_000

// alike compares two replies as far as they are determined.
func alike(args []string, a, b Reply) bool {
	tolerance := int64(0)
	switch strings.ToUpper(args[0]) {
	case "KEYS":
		sortReplies(a.Items)
		sortReplies(b.Items)
	case "SCAN":
		if len(a.Items) == 2 && len(b.Items) == 2 {
			sortReplies(a.Items[1].Items)
			sortReplies(b.Items[1].Items)
		}
	case "PTTL", "PEXPIRETIME":
		tolerance = clockToleranceMilli
	case "TTL", "EXPIRETIME":
		tolerance = clockToleranceMilli / 1000
	}
	if tolerance > 0 && a.Type == ':' && b.Type == ':' && a.Int > 0 && b.Int > 0 {
		return max(a.Int, b.Int)-min(a.Int, b.Int) <= tolerance
	}
	return a.Type == b.Type && a.String() == b.String() && slices.Equal(a.Text, b.Text)
}

func sortReplies(r []Reply) {
	slices.SortFunc(r, func(a, b Reply) int { return strings.Compare(string(a.Text), string(b.Text)) })
}

// TestDifferentialSees makes sure that the comparison can fail.
func TestDifferentialSees(t *testing.T) {
	f := func(cmd, a, b string, want bool) {
		t.Helper()
		require.Equal(t, want, alike([]string{cmd}, readOne(t, a), readOne(t, b)))
	}
	f("GET", "$1\r\na\r\n", "$1\r\na\r\n", true)
	f("GET", "$1\r\na\r\n", "+a\r\n", false)
	f("GET", "$-1\r\n", "*-1\r\n", false)
	f("GET", ":1\r\n", ":2\r\n", false)
	f("TTL", ":1000\r\n", ":999\r\n", true)
	f("TTL", ":-1\r\n", ":-2\r\n", false)
	f("TTL", ":1000\r\n", ":1040\r\n", false)
	f("KEYS", "*2\r\n$1\r\na\r\n$1\r\nb\r\n", "*2\r\n$1\r\nb\r\n$1\r\na\r\n", true)
	f("MGET", "*2\r\n$1\r\na\r\n$1\r\nb\r\n", "*2\r\n$1\r\nb\r\n$1\r\na\r\n", false)
	f("KEYS", "*1\r\n$1\r\na\r\n", "*2\r\n$1\r\nb\r\n$1\r\na\r\n", false)
}
