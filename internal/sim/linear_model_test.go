package sim

import (
	"math"
	"testing"

	"github.com/anishathalye/porcupine"
)

// Linearizability of real concurrent runs: some order of all commands on a
// key, each between its request and its reply, explains every reply. A command
// whose reply never came may stand anywhere after its request, or nowhere.

// operation is one command as a client saw it.
type operation struct {
	client     int
	args       []string
	reply      string // "" when none came
	from, till int64  // nanoseconds; till is endless without a reply
}

const endless = math.MaxInt64

// keyState is what a key holds in the checker's model.
type keyState struct {
	entry entry
	there bool
}

// checkerT is T for the checker: nothing expires in these runs.
const checkerT = startMilli

// linearModel is the model of the simulation, a key at a time.
var linearModel = porcupine.Model{
	Partition: func(history []porcupine.Operation) [][]porcupine.Operation {
		byKey := map[string][]porcupine.Operation{}
		for _, o := range history {
			key := o.Input.([]string)[1]
			byKey[key] = append(byKey[key], o)
		}
		var parts [][]porcupine.Operation
		for _, part := range byKey {
			parts = append(parts, part)
		}
		return parts
	},
	Init: func() any { return keyState{} },
	Step: func(s, input, output any) (bool, any) {
		args, key := input.([]string), input.([]string)[1]
		var st state
		if k := s.(keyState); k.there {
			st.set(place{0, key}, k.entry)
		}
		db := 0
		c := run(&st, checkerT, &db, args)
		e, there := st[0][key]
		reply := output.(string)
		return reply == "" || reply == c.reply, keyState{e, there}
	},
}

// linearizable says whether the history can be explained.
func linearizable(history []operation) bool {
	var ops []porcupine.Operation
	for _, o := range history {
		if o.reply == "" && o.args[0] == "GET" {
			continue // changed nothing and told nothing
		}
		ops = append(ops, porcupine.Operation{ClientId: o.client, Input: o.args, Output: o.reply, Call: o.from, Return: o.till})
	}
	return porcupine.CheckOperations(linearModel, ops)
}

// The checker refuses what is wrong: a stale read, a write that was
// acknowledged and is gone, two who acquired.
func TestCheckerRefuses(t *testing.T) {
	set1, set2 := []string{"SET", "k", "1"}, []string{"SET", "k", "2"}
	get := []string{"GET", "k"}
	begin := func(owner string) []string { return []string{"IDEM", "k", "BEGIN", "f", owner, "1000"} }
	for _, c := range []struct {
		name    string
		history []operation
		want    bool
	}{
		{"in order", []operation{{0, set1, "+OK\r\n", 1, 2}, {1, get, "$1\r\n1\r\n", 3, 4}}, true},
		{"a read beside a write", []operation{{0, set1, "+OK\r\n", 1, 9}, {1, get, "$-1\r\n", 3, 4}}, true},
		{"a stale read", []operation{{0, set1, "+OK\r\n", 1, 2}, {0, set2, "+OK\r\n", 3, 4}, {1, get, "$1\r\n1\r\n", 5, 6}}, false},
		{"a write that is gone", []operation{{0, set1, "+OK\r\n", 1, 2}, {1, get, "$-1\r\n", 5, 6}}, false},
		{"an unanswered write that is there", []operation{{0, set1, "", 1, endless}, {1, get, "$1\r\n1\r\n", 5, 6}}, true},
		{"an unanswered write that is not", []operation{{0, set1, "", 1, endless}, {1, get, "$-1\r\n", 5, 6}}, true},
		{"a read that a crash took back", []operation{{0, set1, "", 1, endless}, {1, get, "$1\r\n1\r\n", 5, 6}, {1, get, "$-1\r\n", 7, 8}}, false},
		{"two who acquired", []operation{
			{0, begin("a"), array(bulk("acquired")), 1, 4}, {1, begin("b"), array(bulk("acquired")), 2, 5},
		}, false},
		{"one who acquired", []operation{
			{0, begin("a"), array(bulk("acquired")), 1, 4}, {1, begin("b"), array(bulk("pending")), 2, 5},
		}, true},
	} {
		if got := linearizable(c.history); got != c.want {
			t.Errorf("%s: linearizable is %t", c.name, got)
		}
	}
}
