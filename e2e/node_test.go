package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

// nodeDir installs the clients that node/package.json names into a folder of
// this run, once.
var nodeDir = sync.OnceValues(func() (string, error) {
	dir := filepath.Join(workDir, "node")
	if err := os.CopyFS(dir, os.DirFS("node")); err != nil {
		return "", err
	}
	cmd := exec.Command("npm", "install", "--no-audit", "--no-fund", "--no-package-lock")
	cmd.Dir = dir
	cmd.Stderr = os.Stderr
	return dir, cmd.Run()
})

// TestNode runs ioredis and node-redis, the latter in both protocols.
func TestNode(t *testing.T) {
	need(t, "npm", requireNode)
	node := need(t, "node", requireNode)
	dir, err := nodeDir()
	if err != nil {
		t.Fatalf("npm install: %v", err)
	}
	for _, test := range []struct{ name, program, resp string }{
		{"ioredis", "ioredis.js", ""},
		{"node-redis/RESP2", "node-redis.js", "2"},
		{"node-redis/RESP3", "node-redis.js", "3"},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := start(t, t.TempDir())
			cmd := exec.Command(node, test.program, s.port, test.resp)
			cmd.Dir = dir
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}
