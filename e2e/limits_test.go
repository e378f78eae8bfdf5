package e2e

import (
	"syscall"
	"testing"
	"time"

	"github.com/hapaxkv/hapax/internal/script"
)

// needDescriptors skips the test when this process may not open n files. The
// server is started by it, so its limit is the same.
func needDescriptors(t *testing.T, n uint64) {
	t.Helper()
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	if uint64(limit.Cur) < n {
		t.Skipf("%d open files are allowed, %d are needed (ulimit -n)", limit.Cur, n)
	}
}

// waitFor asks until something that the server does by itself has happened.
func waitFor(t *testing.T, happened func() bool, complaint string) {
	t.Helper()
	for deadline := time.Now().Add(wireTimeout); !happened(); {
		if time.Now().After(deadline) {
			t.Fatal(complaint)
		}
		time.Sleep(time.Millisecond)
	}
}

// readReply reads a reply without failing the test, for other goroutines.
func readReply(w *wire) (string, error) {
	r, err := script.ReadReply(w.r)
	return r.String(), err
}
