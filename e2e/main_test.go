package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

// workDir holds what all tests of a run share: the built server, Node packages.
var workDir string

func TestMain(m *testing.M) {
	os.Exit(run(m))
}

func run(m *testing.M) int {
	var err error
	workDir, err = os.MkdirTemp("", "hapax-e2e-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(workDir)
	return m.Run()
}

// serverBinary builds the server once a run. HAPAX_SERVER_BIN names a binary to
// test instead; HAPAX_E2E_RACE=1 builds with the race detector.
var serverBinary = sync.OnceValues(func() (string, error) {
	if bin := os.Getenv("HAPAX_SERVER_BIN"); bin != "" {
		return filepath.Abs(bin)
	}
	bin := filepath.Join(workDir, "hapax-server")
	args := []string{"build", "-o", bin}
	if raceServer() {
		args = append(args, "-race")
	}
	cmd := exec.Command("go", append(args, "./cmd/server")...)
	cmd.Dir = ".."
	out, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("building the server: %w\n%s", err, out)
	}
	return bin, nil
})

func raceServer() bool { return os.Getenv("HAPAX_E2E_RACE") == "1" }

// need skips the test when a program is missing, unless the environment says
// that it has to be there: then a skip would hide work.
func need(t *testing.T, program, required string) string {
	t.Helper()
	path, err := exec.LookPath(program)
	if err == nil {
		return path
	}
	if os.Getenv(required) == "1" {
		t.Fatalf("%s is not on the PATH, and %s=1 requires it", program, required)
	}
	t.Skipf("%s is not on the PATH", program)
	return ""
}

const (
	requireOracle = "HAPAX_REQUIRE_ORACLE"
	requireNode   = "HAPAX_REQUIRE_NODE"
	requireRoot   = "HAPAX_REQUIRE_ROOT" // what mounts disks or makes system calls fail
)
