package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"strings"
)

// beginScript is BEGIN of the IDEM contract for a server that has no such
// command: the record as a hash, the decision in Lua.
const beginScript = `
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

// loadScript puts the script on servers that need it.
func (p *process) loadScript() error {
	if p.name == "hapax" {
		return nil
	}
	sha, err := p.ask("SCRIPT", "LOAD", beginScript)
	if err != nil || len(sha) != 40 {
		return fmt.Errorf("SCRIPT LOAD on %s: %q, %v", p.name, sha, err)
	}
	p.script = sha
	return nil
}

// preload writes every key that the load may choose.
func (p *process) preload(keys int) error {
	value := strings.Repeat("x", valueBytes)
	return p.fill(keys, func(b []byte, i int) []byte {
		return appendCommand(b, "SET", fmt.Sprintf("key:%012d", i), value)
	})
}

// fill pipelines n commands, each answered by OK, over one connection.
func (p *process) fill(n int, command func(b []byte, i int) []byte) error {
	c, err := net.Dial("tcp", "127.0.0.1:"+p.port)
	if err != nil {
		return err
	}
	defer c.Close()
	written := make(chan error, 1)
	go func() {
		var b []byte
		for i := range n {
			b = command(b, i)
			if len(b) > 1<<16 || i == n-1 {
				if _, err := c.Write(b); err != nil {
					written <- err
					return
				}
				b = b[:0]
			}
		}
		written <- nil
	}()
	const ok = "+OK\r\n"
	r := bufio.NewReaderSize(c, 1<<16)
	reply := make([]byte, len(ok))
	for i := range n {
		if _, err := io.ReadFull(r, reply); err != nil || string(reply) != ok {
			return fmt.Errorf("reply %d of %s: %q, %v", i, p.name, reply, err)
		}
	}
	return <-written
}
