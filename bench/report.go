package main

import (
	"encoding/json"
	"os"
	"slices"
	"time"
)

// Report is everything a run found out. The Markdown on the terminal, the JSON
// file, the plots and the tables of docs/performance.md are made from it.
type Report struct {
	Machine   Machine
	Servers   []ServerInfo
	Commit    string // of the tree that the run was started in
	StartedAt time.Time
	Options   map[string]string `json:",omitempty"` // repetitions, seconds: what the figures depend on
	Groups    []Group
}

// Machine is what the figures were measured on.
type Machine struct {
	OS          string
	Kernel      string
	CPU         string
	CPUs        int
	MemoryBytes int64
}

// ServerInfo is one contender.
type ServerInfo struct {
	Name    string
	Version string
}

// Group is one table.
type Group struct {
	Name string
	Note string // what holds for all its rows
	Rows []Row
}

// Row is what one server did under one load. The rows of a load follow each
// other, Hapax first.
type Row struct {
	Name    string
	Server  string
	X       float64           `json:",omitempty"` // number of keys, of clients, of bytes, where a curve is drawn
	Params  map[string]string `json:",omitempty"`
	Metrics map[string]Sample
	Aims    []Aim `json:",omitempty"` // on the first server's row
}

// Sample is one figure over all repetitions.
type Sample struct {
	Median, Min, Max float64
	All              []float64 // in the order they were measured
	Unit             string
}

// Names of metrics. Latencies are those of the whole load unless the row says
// whose.
const (
	metricCPU        = "cpu"         // the server's, user and system, per request
	metricRate       = "rate"        // requests a second
	metricP50        = "p50"         // latency
	metricP99        = "p99"         //
	metricP999       = "p999"        //
	metricMax        = "max"         //
	metricRSS        = "rss"         // resident memory at the end
	metricGoHeap     = "go_heap"     // of it the Go heap's
	metricGCShare    = "gc_share"    // of the CPU, the collector's
	metricSyncs      = "syncs"       // fsync, fdatasync and O_DSYNC writes per request
	metricSeconds    = "seconds"     // how long one thing took
	metricBytes      = "bytes"       // per key
	metricDisk       = "disk"        // bytes of files
	metricSnapshots  = "snapshots"   // finished during a repetition
	metricSmallRate  = "small_rate"  // requests a second of the small values' clients
	metricReaderRate = "reader_rate" // requests a second of clients that read beside writers
	metricReaderP50  = "reader_p50"
	metricReaderP99  = "reader_p99"
)

// units of the metrics above.
var units = map[string]string{
	metricCPU: "µs", metricRate: "/s", metricP50: "ms", metricP99: "ms", metricP999: "ms", metricMax: "ms",
	metricRSS: "B", metricGoHeap: "B", metricGCShare: "%", metricSyncs: "", metricSeconds: "s",
	metricBytes: "B", metricDisk: "B", metricWaste: "", metricSnapshots: "", metricSmallRate: "/s",
	metricQuietRate: "/s", metricQuietP99: "ms", metricKept: "",
	metricDiskLargest: "B", metricDiskEnd: "B", metricWritten: "B",
	metricReaderRate: "/s", metricReaderP50: "ms", metricReaderP99: "ms",
}

// figures are the metrics of one repetition.
type figures map[string]float64

// newSample sums up one figure.
func newSample(unit string, all ...float64) Sample {
	if len(all) == 0 {
		return Sample{Unit: unit}
	}
	v := slices.Sorted(slices.Values(all))
	middle := v[len(v)/2]
	if n := len(v); n%2 == 0 {
		middle = (v[n/2-1] + v[n/2]) / 2
	}
	return Sample{Median: middle, Min: v[0], Max: v[len(v)-1], All: all, Unit: unit}
}

// summarize turns repetitions into samples. A metric that some repetitions lack
// has the values of the others.
func summarize(repetitions []figures) map[string]Sample {
	values := map[string][]float64{}
	for _, f := range repetitions {
		for name, v := range f {
			values[name] = append(values[name], v)
		}
	}
	out := map[string]Sample{}
	for name, v := range values {
		out[name] = newSample(units[name], v...)
	}
	return out
}

// writeJSON leaves the report in a file.
func (r *Report) writeJSON(path string) error {
	text, err := json.MarshalIndent(r, "", "\t")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(text, '\n'), 0o644)
}

// readReport is the reverse of writeJSON.
func readReport(path string) (*Report, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	r := &Report{}
	return r, json.Unmarshal(text, r)
}
