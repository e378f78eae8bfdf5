package main

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/hapaxkv/hapax/internal/inspect"
	"github.com/hapaxkv/hapax/internal/vfs"
)

var restoreCommand = subcommand{
	name: "restore",
	args: "SNAPSHOT --dir NEW",
	does: "Make a data directory from a backup, which is a copy of one snapshot file.",
	more: `It checks every byte of the file, copies it and writes a manifest; then a server can
be started with --dir NEW. NEW has to be empty, or not there.`,
	setup: func(c *toolCall) func() error {
		dir := c.flags.String("dir", "", "the new data `directory`")
		return func() error { return c.restore(*dir) }
	},
}

func (c *toolCall) restore(dir string) error {
	if dir == "" {
		return usageError{errors.New("it needs --dir")}
	}
	dir = filepath.ToSlash(c.p.path(dir))
	info, err := inspect.Restore(c.target(), vfs.OS(), dir)
	if err != nil {
		return wrongPath(err)
	}
	_, err = fmt.Fprintf(c.p.stdout, "%s: restored %d keys as of record %d from %s\n", dir, info.Keys, info.LastLSN, c.path)
	return err
}
