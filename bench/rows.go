package main

import (
	"encoding/csv"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
)

// keySpace is how many keys the load chooses from at random.
const keySpace = 1_000_000

// valueBytes is the size of a value in every row.
const valueBytes = 100

// row is one comparison.
type row struct {
	name     string
	durable  bool
	clients  int
	pipeline int
	requests int                       // of a full run
	args     func(p *process) []string // what redis-benchmark sends
	reset    func(p *process) error    // before each repetition; nil: the keys stay
	aimCPU   float64                   // the ratios that the design asks for; 0: none
	aimRate  float64
}

func test(name string) func(*process) []string {
	return func(*process) []string { return []string{"-t", name, "-d", strconv.Itoa(valueBytes)} }
}

// The tokens that an HTTP gateway would send: a hex digest and a random owner.
var (
	fingerprint = strings.Repeat("0123456789abcdef", 4)
	owner       = strings.Repeat("fedcba98", 4)
)

const retentionMilli = "600000"

// beginArgs is IDEM BEGIN on Hapax, and the same state machine as a script on
// the others.
func beginArgs(p *process) []string {
	if p.name == "hapax" {
		return []string{"IDEM", "order:__rand_int__", "BEGIN", fingerprint, owner, retentionMilli}
	}
	return []string{"EVALSHA", p.script, "1", "order:__rand_int__", fingerprint, owner, retentionMilli}
}

func flush(p *process) error {
	if reply, err := p.ask("FLUSHALL"); err != nil || reply != "+OK" {
		return fmt.Errorf("FLUSHALL of %s: %q, %v", p.name, reply, err)
	}
	return p.loadScript()
}

var rows = []row{
	{name: "SET", clients: 50, pipeline: 1, requests: 400_000, args: test("set"), aimCPU: 0.92, aimRate: 1.0},
	{name: "GET", clients: 50, pipeline: 1, requests: 400_000, args: test("get"), aimCPU: 0.92, aimRate: 1.0},
	{name: "SET P16", clients: 50, pipeline: 16, requests: 3_000_000, args: test("set"), aimCPU: 0.50, aimRate: 1.7},
	{name: "GET P16", clients: 50, pipeline: 16, requests: 3_000_000, args: test("get"), aimCPU: 0.50, aimRate: 1.7},
	{name: "GET P64", clients: 50, pipeline: 64, requests: 5_000_000, args: test("get"), aimCPU: 0.30, aimRate: 3},
	{name: "IDEM BEGIN", clients: 50, pipeline: 1, requests: 300_000, args: beginArgs, reset: flush},
	{name: "IDEM BEGIN P16", clients: 50, pipeline: 16, requests: 1_000_000, args: beginArgs, reset: flush, aimCPU: 0.15, aimRate: 5},

	{name: "SET, 1 client", durable: true, clients: 1, pipeline: 1, requests: 20_000, args: test("set"), aimRate: 1.2},
	{name: "SET, 50 clients", durable: true, clients: 50, pipeline: 1, requests: 200_000, args: test("set"), aimRate: 1.3},
	{name: "SET, 50 clients P16", durable: true, clients: 50, pipeline: 16, requests: 1_000_000, args: test("set"), aimRate: 1.5},
	{name: "IDEM BEGIN, 1 client", durable: true, clients: 1, pipeline: 1, requests: 20_000, args: beginArgs, reset: flush, aimRate: 1.2},
	{name: "IDEM BEGIN, 50 clients", durable: true, clients: 50, pipeline: 1, requests: 150_000, args: beginArgs, reset: flush, aimRate: 1.3},
	{name: "IDEM BEGIN, 50 clients P16", durable: true, clients: 50, pipeline: 16, requests: 600_000, args: beginArgs, reset: flush, aimRate: 1.5},
}

// runRows runs the rows of one kind against all contenders, which stay up for
// all of them.
func runRows(o options, all []contender, durable bool) error {
	var wanted []row
	for _, r := range rows {
		if r.durable == durable && strings.Contains(r.name, o.only) {
			wanted = append(wanted, r)
		}
	}
	if len(wanted) == 0 {
		return nil
	}
	var servers []*process
	defer func() {
		for _, p := range servers {
			p.stop()
		}
	}()
	for _, c := range all {
		p, err := startServer(c, durable)
		if err != nil {
			return err
		}
		servers = append(servers, p)
		if err := p.loadScript(); err != nil {
			return err
		}
	}
	reportHead(durable)
	for _, r := range wanted {
		if err := runRow(o, r, servers); err != nil {
			return fmt.Errorf("%s: %w", r.name, err)
		}
	}
	return nil
}

// runRow takes turns: each repetition asks every server, the first one another
// each time, so that a slow spell of the machine hits all alike.
func runRow(o options, r row, servers []*process) error {
	results := make([][]result, len(servers))
	requests := max(2000, int(float64(r.requests)*o.scale))
	for _, p := range servers {
		prepare := r.reset
		if prepare == nil {
			prepare = func(p *process) error { return p.preload(o.preload) }
		}
		if err := prepare(p); err != nil {
			return err
		}
	}
	for rep := range o.reps {
		for i := range servers {
			n := (i + rep) % len(servers)
			if r.reset != nil {
				if err := r.reset(servers[n]); err != nil {
					return err
				}
			}
			one, err := measure(servers[n], r, requests)
			if err != nil {
				return err
			}
			results[n] = append(results[n], one)
		}
	}
	reportRow(r, servers, results)
	return nil
}

// result is one repetition.
type result struct {
	cpuMicro float64 // per request
	rate     float64 // requests a second
	p50, p99 float64 // milliseconds
}

func measure(p *process, r row, requests int) (result, error) {
	before, err := p.cpuMicro()
	if err != nil {
		return result{}, err
	}
	args := []string{"-p", p.port, "-n", strconv.Itoa(requests), "-c", strconv.Itoa(r.clients),
		"-P", strconv.Itoa(r.pipeline), "-r", strconv.Itoa(keySpace), "--csv"}
	cmd := exec.Command("redis-benchmark", append(args, r.args(p)...)...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return result{}, fmt.Errorf("redis-benchmark against %s: %w", p.name, err)
	}
	after, err := p.cpuMicro()
	if err != nil {
		return result{}, err
	}
	one, err := parseBenchmark(string(out))
	one.cpuMicro = float64(after-before) / float64(requests)
	return one, err
}

// parseBenchmark reads the one line of figures below redis-benchmark's heading.
func parseBenchmark(text string) (result, error) {
	lines, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil || len(lines) != 2 {
		return result{}, fmt.Errorf("unexpected output of redis-benchmark (%v):\n%s", err, text)
	}
	at := map[string]float64{}
	for i, name := range lines[0] {
		at[name], _ = strconv.ParseFloat(lines[1][i], 64)
	}
	r := result{rate: at["rps"], p50: at["p50_latency_ms"], p99: at["p99_latency_ms"]}
	if r.rate == 0 || r.p99 == 0 {
		return r, fmt.Errorf("no figures in the output of redis-benchmark:\n%s", text)
	}
	return r, nil
}
