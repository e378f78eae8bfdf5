package main

import (
	"fmt"
	"strconv"
	"sync"

	"github.com/hapaxkv/hapax/internal/command"
	"github.com/hapaxkv/hapax/internal/config"
	"github.com/hapaxkv/hapax/internal/server"
)

// store backs CONFIG GET, SET and REWRITE. It keeps what the configuration
// says and what the server does the same.
type store struct {
	mu  sync.Mutex
	cfg *config.Config

	log        *logger
	retune     func(t server.Tunables) // nil until the server exists
	followWall func()
}

// config is the present configuration, which does not change any more.
func (s *store) config() *config.Config {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.cfg
}

// Get answers CONFIG GET.
func (s *store) Get(patterns []string) [][2]string {
	return s.config().Get(patterns, func(pattern, name string) bool {
		return command.MatchFold([]byte(pattern), []byte(name))
	})
}

// Set answers CONFIG SET: all or none.
//
//  1. the values are checked and put into a copy;
//  2. what may still fail is tried: more clients may need more open files;
//  3. the copy becomes the configuration, and the server is told.
func (s *store) Set(pairs [][2]string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	next, err := s.cfg.Set(pairs)
	if err != nil {
		return err
	}
	if wanted := next.Int("maxclients"); wanted > s.cfg.Int("maxclients") {
		if granted := raiseFileLimit(wanted); granted < wanted {
			return config.Failed("maxclients", fmt.Sprintf("The operating system is not able to handle the specified number of clients, try with %d", granted))
		}
	}
	if next.Bool("clock-follow-wall") {
		s.followWall()
		next = next.With("clock-follow-wall", "no")
	}
	next = next.With("hz", strconv.Itoa(clampHz(next.Int("hz"))))
	s.cfg = next
	s.log.setLevel(levels[next.Text("loglevel")])
	if s.retune != nil {
		s.retune(tunables(next))
	}
	return nil
}

// Rewrite answers CONFIG REWRITE.
func (s *store) Rewrite() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cfg.File == "" {
		return config.SetError("ERR The server is running without a config file")
	}
	if err := rewriteFile(s.cfg.File, s.cfg.Rewrite); err != nil {
		s.log.printf(server.LevelWarning, "CONFIG REWRITE failed: %v", err)
		return config.SetError("ERR Rewriting config file: " + err.Error())
	}
	s.log.printf(server.LevelNotice, "CONFIG REWRITE executed with success.")
	return nil
}
