package main

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// benchmarkTool is redis-benchmark, or Valkey's, which reads and prints the
// same; "" when neither is there.
func benchmarkTool() string {
	for _, name := range []string{"redis-benchmark", "valkey-benchmark"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	return ""
}

// classic is a load that the tool makes.
type classic struct {
	clients, pipeline int
	keys              int
	args              func(p *process) []string
}

// least is how many requests a load has at least.
const least = 1000

// runTool loads the server for about that long, going by the best rate of the
// same load before, and measures it.
func (p *process) runTool(tool string, c classic, d time.Duration) (figures, error) {
	requests := max(least, int(p.rate*d.Seconds()))
	args := append([]string{"-p", p.port, "-n", strconv.Itoa(requests), "-c", strconv.Itoa(c.clients),
		"-P", strconv.Itoa(c.pipeline), "-r", strconv.Itoa(c.keys), "--csv"}, c.args(p)...)
	var out, errors bytes.Buffer
	cmd := exec.Command(tool, args...)
	cmd.Stdout, cmd.Stderr = &out, &errors
	m := meter{p: p}
	m.begin()
	if err := leftovers.start(cmd); err != nil {
		return nil, err
	}
	err := cmd.Wait()
	leftovers.ended(cmd)
	if err != nil {
		return nil, fmt.Errorf("%s against %s: %w: %s", tool, p.name, err, errors.String())
	}
	m.end()
	f, err := parseBenchmark(out.String())
	if err != nil {
		return nil, err
	}
	p.rate = max(p.rate, f[metricRate]) // a slow spell shall not shorten what comes
	used, err := m.figures(int64(requests))
	for name, v := range used {
		f[name] = v
	}
	return f, err
}

// parseBenchmark reads the one line of figures below the tool's heading.
func parseBenchmark(text string) (figures, error) {
	lines, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil || len(lines) != 2 {
		return nil, fmt.Errorf("unexpected output of redis-benchmark (%v):\n%s", err, text)
	}
	at := map[string]float64{}
	for i, name := range lines[0] {
		at[name], _ = strconv.ParseFloat(lines[1][i], 64)
	}
	if at["rps"] == 0 {
		return nil, errors.New("no figures in the output of redis-benchmark:\n" + text)
	}
	return figures{metricRate: at["rps"]}, nil
}
