package main

import (
	"bufio"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/hapaxkv/hapax/internal/command"
	"github.com/hapaxkv/hapax/internal/inspect"
	"github.com/hapaxkv/hapax/internal/op"
	"github.com/hapaxkv/hapax/internal/wal"
)

var dumpCommand = subcommand{
	name: "dump",
	args: "[flags] DIR | SNAPSHOT",
	does: "Print the entries of a snapshot and the records of the log, one a line.",
	more: `Without --from it prints what a start would load: the newest snapshot and the log
behind it. --from log begins at the oldest snapshot. --from salvage prints every
record that is whole anywhere in a damaged log; some may be missing between two of
them. Filters are all to be met;
records about whole databases pass --key and --match, as they concern every key.
Bytes that are no printable UTF-8 are written as \x00 in lines, and in JSON as
base64 in a field whose name ends with _base64.`,
	setup: func(c *toolCall) func() error {
		d := &dumpCall{toolCall: c, filter: inspect.Filter{DB: -1}, valueBytes: -1}
		d.declare()
		return d.run
	},
}

// defaultValueBytes is how much of a value a line of text shows.
const defaultValueBytes = 64

// dumpCall is one call of dump.
type dumpCall struct {
	*toolCall
	filter     inspect.Filter
	source     inspect.Source
	asJSON     bool
	valueBytes int
	valueSet   bool
}

func (d *dumpCall) declare() {
	d.flags.BoolVar(&d.asJSON, "json", false, "print JSON, one object a line")
	d.flags.Func("from", "`all`, log, snapshot or salvage", d.setSource)
	d.flags.Func("key", "only this `key`; \"…\" with escapes is read as Go reads it", d.setKey)
	d.flags.Func("match", "only keys that match this glob `pattern`, as KEYS has it", func(s string) error {
		d.filter.Match = func(key []byte) bool { return command.Match([]byte(s), key) }
		return nil
	})
	d.flags.Func("op", "only these opcodes, `names` or numbers with commas between", d.setCodes)
	d.flags.Func("lsn", "only this LSN, or a `range`: 10-20, 10-, -20", d.setRange)
	d.flags.Func("db", "only this `database`", func(s string) (err error) {
		n, err := strconv.ParseUint(s, 10, 31)
		d.filter.DB = int(n)
		return err
	})
	d.flags.Func("value-bytes", "show at most this `many` bytes of a value, -1 for all; 64 in lines, all in JSON", func(s string) (err error) {
		d.valueSet = true
		d.valueBytes, err = strconv.Atoi(s)
		return err
	})
}

func (d *dumpCall) setSource(s string) error {
	sources := map[string]inspect.Source{"all": inspect.SourceAll, "log": inspect.SourceLog,
		"snapshot": inspect.SourceSnapshot,
		"salvage":  inspect.SourceSalvage}
	source, ok := sources[s]
	if !ok {
		return errors.New("it is all, log, snapshot or salvage")
	}
	d.source = source
	return nil
}

// setKey takes a key as it is, or quoted as dump prints it.
func (d *dumpCall) setKey(s string) error {
	d.filter.Key = []byte(s)
	if len(s) >= 2 && s[0] == '"' && s[len(s)-1] == '"' {
		unquoted, err := strconv.Unquote(s)
		if err != nil {
			return errors.New("it has escapes that are none")
		}
		d.filter.Key = []byte(unquoted)
	}
	return nil
}

func (d *dumpCall) setCodes(s string) error {
	var codes []op.Code
	for name := range strings.SplitSeq(s, ",") {
		code, err := inspect.ParseCode(strings.TrimSpace(name))
		if err != nil {
			return err
		}
		codes = append(codes, code)
	}
	d.filter.Codes = codes
	return nil
}

func (d *dumpCall) setRange(s string) error {
	from, to, isRange := strings.Cut(s, "-")
	if !isRange {
		to = from
	}
	first, err1 := parseLSN(from)
	last, err2 := parseLSN(to)
	if err := errors.Join(err1, err2); err != nil || first == 0 && last == 0 || last > 0 && first > last {
		return errors.New("it is a number, or a range such as 10-20")
	}
	d.filter.FirstLSN, d.filter.LastLSN = first, last
	return nil
}

// parseLSN reads one end of a range; 0 when it is open.
func parseLSN(s string) (wal.LSN, error) {
	if s == "" {
		return 0, nil
	}
	n, err := strconv.ParseUint(s, 10, 64)
	if err == nil && n == 0 {
		err = errors.New("records are counted from 1")
	}
	return wal.LSN(n), err
}

func (d *dumpCall) run() error {
	if !d.asJSON && !d.valueSet {
		d.valueBytes = defaultValueBytes
	}
	out := bufio.NewWriterSize(d.p.stdout, 64<<10)
	var line []byte
	err := inspect.Dump(d.target(), d.source, &d.filter, func(it *inspect.Item) (err error) {
		if d.asJSON {
			line, err = inspect.AppendJSON(line[:0], it, d.valueBytes)
		} else {
			line = inspect.AppendLine(line[:0], it, d.valueBytes)
		}
		if err == nil {
			_, err = out.Write(line)
		}
		return err
	})
	if flushed := out.Flush(); err == nil {
		err = flushed
	}
	if err != nil {
		return fmt.Errorf("%w", wrongPath(err))
	}
	return nil
}
