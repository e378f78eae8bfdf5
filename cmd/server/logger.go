package main

import (
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hapaxkv/hapax/internal/server"
)

// levelMarks are what Redis puts before a message: debug, verbose, notice,
// warning.
const levelMarks = ".-*#"

// logger writes lines in Redis's shape: pid:M date mark message. The log file
// is opened for each line, as Redis does, so that it can be moved away.
type logger struct {
	level atomic.Uint32

	mu   sync.Mutex
	out  io.Writer
	path string // "" to write to out
}

func newLogger(out io.Writer, path string, level server.Level) *logger {
	l := &logger{out: out, path: path}
	l.setLevel(level)
	return l
}

func (l *logger) setLevel(level server.Level) { l.level.Store(uint32(level)) }

func (l *logger) printf(level server.Level, format string, args ...any) {
	if uint32(level) < l.level.Load() {
		return
	}
	line := fmt.Sprintf("%d:M %s %c %s\n", os.Getpid(), time.Now().Format("02 Jan 2006 15:04:05.000"), levelMarks[level], fmt.Sprintf(format, args...))
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.path != "" {
		if err := appendTo(l.path, line); err == nil {
			return
		}
		// A message is worth more in the wrong place than nowhere.
	}
	// There is nowhere left to report that standard output is gone.
	_, _ = io.WriteString(l.out, line)
}

func (l *logger) notice(format string, args ...any)  { l.printf(server.LevelNotice, format, args...) }
func (l *logger) warning(format string, args ...any) { l.printf(server.LevelWarning, format, args...) }

// tryLog finds out at the start whether the log file can be written.
func tryLog(path string) error {
	if path == "" {
		return nil
	}
	return appendTo(path, "")
}

func appendTo(path, line string) error {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = f.WriteString(line)
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	return err
}
