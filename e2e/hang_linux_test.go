package e2e

import (
	"fmt"
	"strings"
	"testing"
)

// commitCalls are what a commit waits in, however the log is written.
const commitCalls = "fdatasync,pwritev2"

// TestHangingDisk makes one sync take very long, by strace. It is reported
// while it lasts, what depends on it waits, reads of other keys don't; and past
// its bound the process gives up, having acknowledged nothing that is lost.
func TestHangingDisk(t *testing.T) {
	hang := func(micro int) string { return fmt.Sprintf("delay_enter=%d:when=20", micro) } // counted for each thread
	t.Run("reported", func(t *testing.T) {
		t.Parallel()
		strace := need(t, "strace", requireRoot)
		dir := t.TempDir()
		s := start(t, dir, append([]string{"--sync-hang-report-ms", "200"}, snapshotArgs...)...)
		inject(t, strace, s, commitCalls, hang(800_000))
		acknowledged, err := fillUp(t, s, 8, 800)
		if err != nil {
			t.Errorf("a write failed: %v", err)
		}
		waitFor(t, func() bool { return strings.Contains(s.log.String(), "The log's disk answers again") }, "the end of the hang is not reported")
		if !strings.Contains(s.log.String(), "The log's disk does not answer") {
			t.Errorf("the hang is not reported:\n%s", tail(s.log.String(), 20))
		}
		s.kill()
		allThere(t, dir, acknowledged)
	})
	t.Run("given up", func(t *testing.T) {
		t.Parallel()
		strace := need(t, "strace", requireRoot)
		dir := t.TempDir()
		s := start(t, dir, append([]string{"--sync-hang-report-ms", "200", "--sync-hang-fatal-ms", "600"}, snapshotArgs...)...)
		inject(t, strace, s, commitCalls, hang(4_000_000))
		acknowledged, err := fillUp(t, s, 8, 1_000_000)
		if err == nil {
			t.Error("no write failed")
		}
		if code := s.wait(); code == 0 {
			t.Error("the server ended with 0 although its disk hung")
		}
		if !strings.Contains(s.log.String(), "the disk is given up") {
			t.Errorf("the server doesn't say why it ended:\n%s", tail(s.log.String(), 20))
		}
		allThere(t, dir, acknowledged)
	})
}
