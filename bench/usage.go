package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// cpuMicro is the CPU time that the server has used, user and system, of all
// its threads. The kernel counts in hundredths of a second.
func (p *process) cpuMicro() (int64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.pid))
	if err != nil {
		return 0, err
	}
	return parseStat(string(text))
}

// tickMicro is the least CPU time that the kernel tells from none.
const tickMicro = 10_000

// parseStat takes the times out of /proc/PID/stat.
func parseStat(text string) (int64, error) {
	// The program's name, in parentheses, may hold spaces: count from its end.
	fields := strings.Fields(text[strings.LastIndexByte(text, ')')+1:])
	const utime, stime = 11, 12
	if len(fields) <= stime {
		return 0, errors.New("a short /proc/PID/stat")
	}
	user, err := strconv.ParseInt(fields[utime], 10, 64)
	if err != nil {
		return 0, err
	}
	system, err := strconv.ParseInt(fields[stime], 10, 64)
	return (user + system) * tickMicro, err
}

// residentBytes is the memory that the server holds.
func (p *process) residentBytes() (int64, error) {
	fields := strings.Fields(fileText(fmt.Sprintf("/proc/%d/statm", p.pid)))
	if len(fields) < 2 {
		return 0, errors.New("a short /proc/PID/statm")
	}
	pages, err := strconv.ParseInt(fields[1], 10, 64)
	return pages * int64(os.Getpagesize()), err
}

// diskBytes is what the server's files take.
func (p *process) diskBytes() (int64, error) {
	var sum int64
	err := filepath.WalkDir(p.dir, func(_ string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return ignoreGone(err)
		}
		info, err := d.Info()
		if err == nil {
			sum += info.Size()
		}
		return ignoreGone(err)
	})
	return sum, err
}

// ignoreGone lets files disappear while they are counted.
func ignoreGone(err error) error {
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}

// meter measures the server around a load.
type meter struct {
	p     *process
	cpu   int64
	gc    int64
	after figures // what was read at the end
	err   error
}

// begin is called when counting begins. What asks the server comes before its
// CPU is read, and at the end after it: the answers aren't among the requests.
func (m *meter) begin() {
	m.gc, _, m.err = m.p.goRuntime()
	if m.err == nil {
		m.cpu, m.err = m.p.cpuMicro()
	}
}

// end is called when it has ended, while the server is still under load.
// perRequest has to know the requests, so CPU is the sum here.
func (m *meter) end() {
	if m.err != nil {
		return
	}
	cpu, err := m.p.cpuMicro()
	gc, heap, gcErr := m.p.goRuntime()
	rss, rssErr := m.p.residentBytes()
	if m.err = errors.Join(err, gcErr, rssErr); m.err != nil {
		return
	}
	m.after = figures{metricCPU: float64(cpu - m.cpu), metricRSS: float64(rss)}
	if m.p.name == hapax {
		m.after[metricGoHeap] = float64(heap)
		m.after[metricGCShare] = 100 * float64(gc-m.gc) / float64(max(cpu-m.cpu, tickMicro))
	}
}

// figures are what was measured, the CPU for each of the requests.
func (m *meter) figures(requests int64) (figures, error) {
	if m.err != nil {
		return nil, m.err
	}
	m.after[metricCPU] /= float64(requests)
	return m.after, nil
}

// goRuntime is the CPU that the collector has used, and the bytes of its heap;
// zeros for a server without.
func (p *process) goRuntime() (gcMicro, heapBytes int64, err error) {
	if p.name != hapax {
		return 0, 0, nil
	}
	fields, err := p.info("hapax")
	if err != nil {
		return 0, 0, err
	}
	gcMicro, err = strconv.ParseInt(fields["go_gc_cpu_usec"], 10, 64)
	if err != nil {
		return 0, 0, fmt.Errorf("go_gc_cpu_usec: %w", err)
	}
	heapBytes, err = strconv.ParseInt(fields["memory_go_heap_bytes"], 10, 64)
	return gcMicro, heapBytes, err
}
