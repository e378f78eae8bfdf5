package main

import (
	"strconv"
	"strings"
	"time"

	"github.com/hapaxkv/hapax/bench/load"
)

// What a request costs as something grows: one curve for each load, one point
// for each size. They take long and their points are many, so they run only
// when they are asked for.
const (
	groupGrowthKeys    = "Growth: keys"
	groupGrowthClients = "Growth: connections"
	groupGrowthValues  = "Growth: value size"
)

// What all points take: enough to draw them by.
const (
	growthReps    = 3
	growthSeconds = 1
)

// growing is where the curves' points are.
type growing struct {
	clients []int
	bytes   []int // of a value
	// valueKeys is how many small values there are.
	valueKeys int
}

var growingAll = growing{
	valueKeys: 100_000,
	clients:   []int{1, 10, 50, 200, 1000, 5000},
	bytes:     []int{16, 128, 1 << 10, 16 << 10, 256 << 10, 4 << 20},
}

// asks says whether a group that has to be asked for was: by the beginning of
// its name, or by its name and a row's. What is within its name is another
// group's, too.
func (r *run) asks(group string) bool {
	group, only := strings.ToLower(group), strings.ToLower(r.only)
	return only != "" && (strings.HasPrefix(group, only) || strings.HasPrefix(only, group+": "))
}

// shortly runs a function with the repetitions of a curve, if they aren't
// shorter already.
func (r *run) shortly(f func() error) error {
	o := r.options
	defer func() { r.options = o }()
	r.reps, r.seconds = min(r.reps, growthReps), min(r.seconds, growthSeconds)
	return f()
}

// curve is one load whose cost is drawn.
type curve struct {
	name     string
	pipeline int
	kind     curveKind
	saving   bool // a snapshot runs meanwhile
}

type curveKind byte

const (
	reading curveKind = iota
	writing
	beginning // of operations
	replaying // completed ones
)

// wantedCurves are those that were asked for.
func (r *run) wantedCurves(group string, all []curve) []curve {
	var wanted []curve
	for _, c := range all {
		if r.wants(group, c.name) {
			wanted = append(wanted, c)
		}
	}
	return wanted
}

// strings is the load of a curve that reads or writes one of n keys.
func (c curve) strings(clients, keys int, v []byte) load.Group {
	reads := 0
	if c.kind == reading {
		reads = 100
	}
	return load.Group{Name: c.name, Clients: clients, Pipeline: c.pipeline, New: func(i int) load.Script {
		return load.NewStrings(keyPrefix, load.Uniform(keys, uint64(i)), v, reads, uint64(i))
	}}
}

// begins is a load of operations that nobody has begun.
func (c curve) begins(p *process, clients int) load.Group {
	first := p.operations()
	return load.Group{Name: c.name, Clients: clients, Pipeline: c.pipeline, New: func(i int) load.Script {
		return load.NewBegins(p.dialect(), i, clients, first)
	}}
}

func (c curve) params(clients int) map[string]string {
	return map[string]string{"clients": strconv.Itoa(clients), "pipeline": strconv.Itoa(c.pipeline)}
}

// driveGroup drives one load for a repetition's length.
func (r *run) driveGroup(p *process, g load.Group) (figures, error) {
	f, _, err := p.drive(r.plan(g))
	return f, err
}

// driveSaving has a snapshot begin a moment after the counting, so that what
// its beginning costs, a fork for some, is counted.
func (r *run) driveSaving(p *process, g load.Group) (figures, error) {
	plan := r.plan(g)
	plan.Warmup = 0
	began := make(chan *saving, 1)
	go func() {
		time.Sleep(r.warmup())
		began <- startSaving(p)
	}()
	f, _, err := p.drive(plan)
	finished, saveErr := (<-began).stop()
	if err != nil {
		return nil, err
	}
	if saveErr != nil {
		return nil, saveErr
	}
	f[metricSnapshots] = float64(finished)
	return f, nil
}
