package main

import (
	"fmt"

	"github.com/hapaxkv/hapax/bench/load"
)

// What people use today where there is no IDEM: its state machine in Lua, the
// record as a hash. The same decisions in the same order; a result once saved
// is never replaced.
const (
	beginScript = `
local r = redis.call('HMGET', KEYS[1], 'fingerprint', 'state', 'result')
if not r[1] then
  redis.call('HSET', KEYS[1], 'fingerprint', ARGV[1], 'owner', ARGV[2], 'state', 'pending')
  redis.call('PEXPIRE', KEYS[1], ARGV[3])
  return {'acquired'}
end
if r[1] ~= ARGV[1] then return {'conflict'} end
if r[2] == 'pending' then return {'pending'} end
return {'completed', r[3]}
`
	completeScript = `
local r = redis.call('HMGET', KEYS[1], 'fingerprint', 'owner', 'state', 'result')
if r[1] ~= ARGV[1] or r[2] ~= ARGV[2] then return 0 end
if r[3] == 'pending' then
  redis.call('HSET', KEYS[1], 'state', 'completed', 'result', ARGV[3])
  return 1
end
if r[4] == ARGV[3] then return 1 end
return 0
`
)

// scripts are the hashes of what a server runs in place of IDEM.
type scripts struct{ begin, complete string }

// dialect is how the server is asked.
func (s scripts) dialect() load.Dialect {
	return load.Dialect{BeginSHA: s.begin, CompleteSHA: s.complete}
}

// loadScripts puts them on servers that need them.
func (p *process) loadScripts() error {
	if p.name == hapax {
		return nil
	}
	for text, sha := range map[string]*string{beginScript: &p.begin, completeScript: &p.complete} {
		reply, err := p.ask("SCRIPT", "LOAD", text)
		if err != nil || len(reply) != 40 {
			return fmt.Errorf("SCRIPT LOAD on %s: %q, %v", p.name, reply, err)
		}
		*sha = reply
	}
	return nil
}
