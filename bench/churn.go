package main

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"github.com/hapaxkv/hapax/bench/load"
)

const groupChurn = "Memory after churn"

const (
	churnValue  = 107 // bytes of a value, less or more churnSpread
	churnSpread = 20
	churnTTL    = 24 * time.Hour
	churnKeepIn = 10 // one key in so many stays

	metricWaste = "waste" // what resident memory grew by over used_memory
)

// churnStep is something that changes what a server holds.
type churnStep struct {
	name string
	run  func(c *churn) error
}

var churnSteps = []churnStep{
	{"filled", (*churn).fill},
	{"overwritten once each, values of 107 ± 20 bytes, their mean wandering", (*churn).overwrite},
	{"all but one in ten deleted", (*churn).shrink},
	{"filled again, all but one in ten expired", (*churn).expire},
}

func oneInTen(keys int) int { return keys / churnKeepIn }

// churn is one server that goes through all steps.
type churn struct {
	p         *process
	keys      int
	text      string
	rnd       *rand.Rand
	emptyRSS  int64
	emptyUsed int64
}

// runChurn lets every server go through the steps once; after each it rests
// until its resident memory does. What a step left for a key that lives is in
// bytes, as in the table of bytes per key.
func runChurn(r *run) error {
	if !r.wants(groupChurn, "") {
		return nil
	}
	rows := make([][]Row, len(churnSteps))
	for _, c := range r.all {
		results, err := r.churn(c)
		if err != nil {
			return fmt.Errorf("%s: %s: %w", groupChurn, c.name, err)
		}
		for i, f := range results {
			rows[i] = append(rows[i], Row{Name: churnSteps[i].name, Server: c.name, X: float64(r.keys), Metrics: summarize([]figures{f})})
		}
	}
	note := fmt.Sprintf("%d keys of 14 bytes, persistence off; bytes is what the resident memory grew by for each key that is there, "+
		"waste the same over what used_memory grew by; each when the server had come to rest", r.keys)
	for _, step := range rows {
		step[0].Aims = []Aim{atMost(metricBytes, 0.70)}
		r.add(groupChurn, note, step...)
	}
	return nil
}

func (r *run) churn(c contender) (results []figures, err error) {
	p, err := r.start(c, false)
	if err != nil {
		return nil, err
	}
	defer p.stop()
	ch := churn{p: p, keys: r.keys, text: hexText(), rnd: rand.New(rand.NewPCG(7, 7))}
	if ch.emptyRSS, ch.emptyUsed, err = ch.memory(); err != nil {
		return nil, err
	}
	for _, step := range churnSteps {
		began := time.Now()
		if err := step.run(&ch); err != nil {
			return nil, fmt.Errorf("%s: %w", step.name, err)
		}
		if err := ch.rest(); err != nil {
			return nil, err
		}
		f, err := ch.figures()
		if err != nil {
			return nil, err
		}
		f[metricSeconds] = time.Since(began).Seconds()
		results = append(results, f)
	}
	return results, nil
}

func (c *churn) memory() (rss, used int64, err error) {
	if rss, err = c.p.residentBytes(); err != nil {
		return 0, 0, err
	}
	text, err := c.p.infoField("memory", "used_memory")
	if err != nil {
		return 0, 0, err
	}
	used, err = strconv.ParseInt(text, 10, 64)
	return rss, used, err
}

func (c *churn) figures() (figures, error) {
	live, err := c.live()
	if err != nil {
		return nil, err
	}
	rss, used, err := c.memory()
	if err != nil {
		return nil, err
	}
	grew := float64(rss - c.emptyRSS)
	return figures{
		metricRSS:   float64(rss),
		metricBytes: grew / float64(live),
		metricWaste: grew / float64(used-c.emptyUsed),
	}, nil
}

const (
	restPoll  = 500 * time.Millisecond
	restPolls = 6 // in a row without a fall
	restMost  = 20 * time.Second

	expireMost = 30 * time.Second
)

// rest waits until the resident memory no longer falls.
func (c *churn) rest() error {
	lowest, still := int64(1)<<62, 0
	for deadline := time.Now().Add(restMost); still < restPolls && time.Now().Before(deadline); time.Sleep(restPoll) {
		rss, err := c.p.residentBytes()
		if err != nil {
			return err
		}
		if still++; rss < lowest-lowest/200 {
			lowest, still = rss, 0
		}
	}
	return nil
}

// value has a size around churnValue, which wanders from below to above as i
// goes from 0 to n.
func (c *churn) value(i, n int) string {
	size := churnValue + churnSpread*(2*i-n)/(2*n) + c.rnd.IntN(churnSpread+1) - churnSpread/2
	at := i * 31 % (len(c.text) - size)
	return c.text[at : at+size]
}

func (c *churn) set(b []byte, key int, value string) []byte {
	b = load.Bulk(load.Bulk(load.Array(b, 5), "SET"), memoryKey(key))
	return load.Bulk(load.Bulk(load.Bulk(b, value), "PX"), strconv.FormatInt(churnTTL.Milliseconds(), 10))
}

func (c *churn) fill() error {
	return c.p.fill(c.keys, func(b []byte, i int) []byte { return c.set(b, i, c.value(i, c.keys)) })
}

func (c *churn) overwrite() error {
	return c.p.fill(c.keys, func(b []byte, i int) []byte {
		return c.set(b, c.rnd.IntN(c.keys), c.value(i, c.keys))
	})
}

// goers calls f for the number of every key that is to go.
func (c *churn) goers(command func(b []byte, key int) []byte) error {
	gone := c.keys - oneInTen(c.keys)
	return c.p.fill(gone, func(b []byte, i int) []byte {
		return command(b, i+i/(churnKeepIn-1)+1) // leaves out every tenth
	})
}

func (c *churn) shrink() error {
	return c.goers(func(b []byte, key int) []byte { return load.Command(b, "DEL", memoryKey(key)) })
}

func (c *churn) expire() error {
	if err := c.fill(); err != nil {
		return err
	}
	err := c.goers(func(b []byte, key int) []byte { return load.Command(b, "PEXPIRE", memoryKey(key), "1") })
	if err != nil {
		return err
	}
	// Nobody reads them: they go when the server looks.
	// Redis leaves some for long.
	for deadline := time.Now().Add(expireMost); time.Now().Before(deadline); time.Sleep(restPoll) {
		if live, err := c.live(); err != nil || live <= oneInTen(c.keys) {
			return err
		}
	}
	return nil
}

// live is how many keys the server has.
func (c *churn) live() (int, error) {
	size, err := c.p.ask("DBSIZE")
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(strings.TrimPrefix(size, ":"))
}
