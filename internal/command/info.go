package command

import (
	"strconv"
	"strings"
)

// INFO: sections of "name:value" lines under Redis's names, so that clients
// and exporters find what they look for. What has no counterpart here and is
// read by tools all the same has the value that Redis shows when the feature
// is idle. info_sections.go writes the sections.

// infoSection is one "# Title" of INFO.
type infoSection struct {
	name, title string
	byDefault   bool // part of a plain INFO
	write       func(w *infoWriter, s *Stats)
}

// infoSections are in the order of the reply.
var infoSections = []infoSection{
	{"server", "Server", true, infoServer},
	{"clients", "Clients", true, infoClients},
	{"memory", "Memory", true, infoMemory},
	{"persistence", "Persistence", true, infoPersistence},
	{"stats", "Stats", true, infoStats},
	{"replication", "Replication", true, infoReplication},
	{"cpu", "CPU", true, infoCPU},
	{"modules", "Modules", true, func(*infoWriter, *Stats) {}}, // there are none
	{"commandstats", "Commandstats", false, infoCommandStats},
	{"errorstats", "Errorstats", true, infoErrorStats},
	// Hapax doesn't sample each command's latencies: the section is empty, as
	// in a Redis with latency-tracking off.
	{"latencystats", "Latencystats", false, func(*infoWriter, *Stats) {}},
	{"cluster", "Cluster", true, func(w *infoWriter, _ *Stats) { w.num("cluster_enabled", 0) }},
	{"keyspace", "Keyspace", true, infoKeyspace},
	{"hapax", "Hapax", true, infoHapax},
}

func info(c *Ctx) error {
	wanted := wantedSections(c.Args[1:])
	w := infoWriter{}
	s := c.Host.Stats()
	for i := range infoSections {
		if !wanted[i] {
			continue
		}
		if len(w.text) > 0 {
			w.text = append(w.text, "\r\n"...)
		}
		w.text = append(w.text, "# "+infoSections[i].title+"\r\n"...)
		infoSections[i].write(&w, s)
	}
	c.Out.Verbatim("txt", string(w.text))
	return nil
}

// wantedSections marks what args name: sections, "default", "all",
// "everything". An unknown name adds nothing.
func wantedSections(args [][]byte) []bool {
	wanted := make([]bool, len(infoSections))
	for i := range infoSections {
		section := &infoSections[i]
		wanted[i] = len(args) == 0 && section.byDefault
		for _, arg := range args {
			wanted[i] = wanted[i] || Is(arg, section.name) || Is(arg, "all") || Is(arg, "everything") ||
				Is(arg, "default") && section.byDefault
		}
	}
	return wanted
}

// oneLine keeps a value from outside (a path) from starting a line of its own.
var oneLine = strings.NewReplacer("\r", " ", "\n", " ")

// infoWriter appends lines.
type infoWriter struct{ text []byte }

func (w *infoWriter) str(name, value string) {
	w.text = append(w.text, name...)
	w.text = append(w.text, ':')
	w.text = append(w.text, oneLine.Replace(value)...)
	w.text = append(w.text, "\r\n"...)
}

func (w *infoWriter) num(name string, n int64) { w.str(name, strconv.FormatInt(n, 10)) }

func (w *infoWriter) flag(name string, on bool) {
	n := int64(0)
	if on {
		n = 1
	}
	w.num(name, n)
}

func (w *infoWriter) float(name string, f float64, digits int) {
	w.str(name, strconv.FormatFloat(f, 'f', digits, 64))
}

func (w *infoWriter) percent(name string, n, of int64) {
	w.str(name, strconv.FormatFloat(100*ratio(n, of), 'f', 2, 64)+"%")
}

// bytes writes a size twice, for programs and for people.
func (w *infoWriter) bytes(name string, n int64) {
	w.num(name, n)
	w.str(name+"_human", humanBytes(n))
}

// zeros writes names whose features Hapax doesn't have.
func (w *infoWriter) zeros(names ...string) {
	for _, name := range names {
		w.num(name, 0)
	}
}

// humanBytes is n as Redis abbreviates it: 12B, 1.50K, 2.00M.
func humanBytes(n int64) string {
	const step = 1024
	if n < step {
		return strconv.FormatInt(n, 10) + "B"
	}
	f, units := float64(n)/step, "KMGTPE"
	for f >= step && len(units) > 1 {
		f, units = f/step, units[1:]
	}
	return strconv.FormatFloat(f, 'f', 2, 64) + units[:1]
}
