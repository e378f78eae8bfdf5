package lint

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// mutation breaks one invariant in one place. The test that ARCHITECTURE.md
// names for it has to fail then.
type mutation struct {
	invariant int
	what      string
	file      string
	old, new  string
	test      string // as the table of ARCHITECTURE.md writes it
}

var mutations = []mutation{
	{1, "apply before append", "internal/shard/write.go",
		"	lsn := tx.append()\n	tx.Writes++\n	tx.discard(tx.ks, tx.ks.remove(k.Slot, &tx.at))",
		"	tx.discard(tx.ks, tx.ks.remove(k.Slot, &tx.at))\n	lsn := tx.append()\n	tx.Writes++",
		"shard.TestModel"},
	{2, "replay looks at the clock", "internal/shard/apply.go",
		"\n// Apply applies one recovered record.",
		"\nvar appliedAt = time.Now\n\n// Apply applies one recovered record.",
		"lint.TestTree"},
	{3, "an IDEM record is logged without its deadline", "internal/op/append.go",
		"	case IdempotencyPut:\n		dst = appendDB(dst, o.DB)\n		dst = binary.AppendUvarint(dst, uint64(o.DeadlineMilli))",
		"	case IdempotencyPut:\n		dst = appendDB(dst, o.DB)\n		dst = binary.AppendUvarint(dst, 0)",
		"op.TestFixtures"},
	{3, "completion moves the deadline", "internal/command/idem.go",
		"stored.DeadlineMilli) // never", "stored.DeadlineMilli+1) // never",
		"command.TestIdemModel"},
	{4, "a replaced value is freed while it is lent", "internal/shard/tx.go",
		"{ tx.limbo = append(tx.limbo, limbo{ks, r}) }", "{ ks.freeEntry(r) }",
		"shard.TestModel"},
	{5, "reads observe nothing", "internal/shard/read.go",
		"	tx.see(rec.lsn)\n", "",
		"server.TestNoReplyBeforeDurable"},
	{5, "writes leave no trace in their slot", "internal/shard/keyspace.go",
		"	rec.lsn = max(rec.lsn, lsn)\n", "",
		"server.TestNoReplyBeforeDurable"},
	{6, "shards are locked in the order of the keys", "internal/shard/tx.go",
		"		tx.locked[n/64] |= 1 << (n % 64)\n	}\n	tx.eachLocked(func(sh *shard) { sh.mu.Lock() })",
		"		if bit := uint64(1) << (n % 64); tx.locked[n/64]&bit == 0 {\n			tx.locked[n/64] |= bit\n			s.shards[n].mu.Lock()\n		}\n	}",
		"shard.TestConcurrentTransfers"},
	{7, "an unknown opcode is read as a Tick", "internal/op/decode.go",
		"		return &UnknownCodeError{o.Code}", "		o.Code = Tick\n		return nil",
		"engine.TestUnknownOpcodeStopsRecovery"},
	{8, "a failed sync is tried again", "internal/wal/commit.go",
		"	if err := l.w.live.file.Sync(); err != nil {",
		"	err := l.w.live.file.Sync()\n	for i := 0; err != nil && i < 3; i++ {\n		err = l.w.live.file.Sync()\n	}\n	if err != nil {",
		"wal.TestEveryFailedOperationPoisons"},
	{8, "replies leave after the log failed", "internal/wal/commit.go",
		"		return l.poison(\"sync of \"+l.w.live.name, err)", "		l.logf(\"%v\", err)",
		"server.TestPoisonReleasesNoReply"},
	{9, "damage passes as a torn tail", "internal/wal/tail.go",
		"	if at > 0 && proof.syncedFrame >= fr.want.frame {", "	if at > 0 && proof.syncedFrame > 1<<60 {",
		"wal.TestFlippedByteIsNeverSilentLoss"},
	{10, "T follows the wall clock back", "internal/clock/clock.go",
		"		shift = -min(-c.gapNano, passed/behindDivisor)", "		shift = c.gapNano",
		"clock.TestServerTime"},
	{10, "T starts anew after a restart", "internal/engine/recover.go",
		"	e.Clock.Raise(report.LastT)\n", "",
		"engine.TestTimeGoesOnWhereTheLogStopped"},
	{11, "the last key is forgotten", "internal/command/keyspec.go",
		"first <= last; first += step", "first < last; first += step",
		"command.TestKeysOfEveryShape"},
	{12, "a declared count is reserved", "internal/resp/parser.go",
		"func (p *Parser) shrink() {", "func (p *Parser) shrink() {\n	p.args = make([][]byte, 0, 1<<20)",
		"resp.TestDeclaredSizesReserveNothing"},
	{12, "commands run on over unread replies", "internal/server/session.go",
		"	case int64(len(ex.out.Buf)-s.sent) > ex.tun.OutputPauseBytes:", "	case int64(len(ex.out.Buf)-s.sent) > ex.tun.OutputPauseBytes<<20:",
		"server.TestOutputPausesExecution"},
}

// TestMutationsApply keeps the list in step with the code: each place is there
// exactly once, and each test is in the invariant's row of ARCHITECTURE.md.
func TestMutationsApply(t *testing.T) {
	doc, err := os.ReadFile("../../" + architecture)
	if err != nil {
		t.Fatal(err)
	}
	broken := map[int]bool{}
	for _, m := range mutations {
		broken[m.invariant] = true
		text, err := os.ReadFile("../../" + m.file)
		if err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(string(text), m.old); n != 1 {
			t.Errorf("I%d, %s: the code to break is %d times in %s", m.invariant, m.what, n, m.file)
		}
		if row := tableRow(string(doc), m.invariant); !strings.Contains(row, "`"+m.test+"`") {
			t.Errorf("I%d, %s: the row of %s doesn't name %s", m.invariant, m.what, architecture, m.test)
		}
	}
	for n := 1; n <= invariantCount; n++ {
		if !broken[n] {
			t.Errorf("I%d: nothing shows that a test misses it", n)
		}
	}
}

func tableRow(doc string, invariant int) string {
	for _, line := range strings.Split(doc, "\n") {
		if strings.HasPrefix(line, fmt.Sprintf("| I%d |", invariant)) {
			return line
		}
	}
	return ""
}

// TestEveryBreakIsSeen breaks each place in a copy of the tree and runs the test
// that has to fail. It takes minutes: `make prove`.
func TestEveryBreakIsSeen(t *testing.T) {
	if os.Getenv("HAPAX_PROVE") == "" {
		t.Skip("HAPAX_PROVE=1 (make prove) breaks the code and runs the tests")
	}
	for _, m := range mutations {
		t.Run(fmt.Sprintf("I%d %s", m.invariant, m.what), func(t *testing.T) {
			dir := copyTree(t)
			path := filepath.Join(dir, filepath.FromSlash(m.file))
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			mutated := strings.Replace(string(text), m.old, m.new, 1)
			if strings.Contains(m.new, "time.Now") {
				mutated = strings.Replace(mutated, "import (", "import (\n	\"time\"", 1)
			}
			if err := os.WriteFile(path, []byte(mutated), 0o600); err != nil {
				t.Fatal(err)
			}
			if out, err := goIn(dir, "build", "-trimpath", "./..."); err != nil {
				t.Fatalf("the broken code doesn't compile: %s", out)
			}
			pkg, test, _ := strings.Cut(m.test, ".")
			out, err := goIn(dir, "test", "-trimpath", "-vet=off", "-timeout=60s", "-run", "^"+test+"$", "./internal/"+pkg)
			if err == nil {
				t.Errorf("%s passes:\n%s", m.test, out)
			}
			if strings.Contains(out, "no tests to run") || strings.Contains(out, "[build failed]") {
				t.Errorf("%s didn't run:\n%s", m.test, out)
			}
		})
	}
}

// copyTree copies what the tests of internal/ need.
func copyTree(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"cmd", "internal", "docs"} {
		if err := os.CopyFS(filepath.Join(dir, name), os.DirFS("../../"+name)); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"go.mod", "go.sum", architecture, "README.md", "CONTRIBUTING.md", "CHANGELOG.md", "LICENSE"} {
		text, err := os.ReadFile("../../" + name)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func goIn(dir string, args ...string) (string, error) {
	cmd := exec.Command("go", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "HAPAX_PROVE=")
	out, err := cmd.CombinedOutput()
	return string(out), err
}
