package main

import (
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// diskRate is the load of the disk's row, requests a second: below what either
// server can do, so that both get the same.
const diskRate = 50_000

// runDisk overwrites keys for some minutes, with the rules for rewriting the
// log as they are by default, and looks at the files every half second.
func runDisk(o options, all []contender) error {
	if !strings.Contains("disk use", o.only) || o.minutes <= 0 {
		return nil
	}
	fmt.Printf("\n## Disk use over %.2g minutes of overwrites, %d keys, %d-byte values, appendfsync everysec\n\n"+
		"| server | SETs | MB of keys and values written | largest MB | mean MB | MB at the end | snapshots or rewrites |\n|---|---|---|---|---|---|---|\n",
		o.minutes, keySpace, valueBytes)
	for _, c := range all {
		if err := runDiskOf(o, c); err != nil {
			return fmt.Errorf("disk use: %s: %w", c.name, err)
		}
	}
	return nil
}

func runDiskOf(o options, c contender) error {
	dir, err := tempDir()
	if err != nil {
		return err
	}
	p, err := startIn(c, dir, "--appendonly", "yes", "--appendfsync", "everysec",
		"--auto-aof-rewrite-percentage", "100", "--auto-aof-rewrite-min-size", "64mb")
	if err != nil {
		return err
	}
	defer p.stop()
	if err := p.preload(keySpace); err != nil {
		return err
	}
	var most, sum, last, samples, sets int64
	look := func() error {
		n, err := p.diskBytes()
		most, sum, last, samples = max(most, n), sum+n, n, samples+1
		return err
	}
	for end := time.Now().Add(time.Duration(o.minutes * float64(time.Minute))); time.Now().Before(end); {
		const batch = diskRate / 2
		next := time.Now().Add(time.Second / 2)
		cmd := exec.Command("redis-benchmark", "-p", p.port, "-n", strconv.Itoa(batch), "-c", "50", "-P", "16",
			"-r", strconv.Itoa(keySpace), "-t", "set", "-d", strconv.Itoa(valueBytes), "--csv")
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("redis-benchmark: %w: %s", err, out)
		}
		sets += batch
		if err := look(); err != nil {
			return err
		}
		time.Sleep(time.Until(next))
	}
	rewrites, err := p.infoField("persistence", "aof_rewrites")
	if err != nil {
		return err
	}
	const keyBytes = len("key:000000000000")
	fmt.Printf("| %s | %d | %d | %d | %d | %d | %s |\n", c.name, sets, sets*int64(keyBytes+valueBytes)>>20,
		most>>20, sum/samples>>20, last>>20, rewrites)
	return nil
}
