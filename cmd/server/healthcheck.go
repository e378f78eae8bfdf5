package main

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hapaxkv/hapax/internal/config"
	"github.com/hapaxkv/hapax/internal/resp"
)

// healthTimeout bounds one health check, which a container runtime repeats.
const healthTimeout = 3 * time.Second

// healthCheck asks the server that the configuration describes for a PONG. A
// server that is loading or refuses the password is not healthy.
func (p *process) healthCheck() int {
	if len(p.args) == 0 {
		p.args = containerArgs()
	}
	cfg, _, err := p.load()
	if err != nil {
		printProblems(p.stderr, err)
		return exitFailure
	}
	network, address := p.healthAddress(cfg)
	if err := ping(network, address, cfg.Text("requirepass")); err != nil {
		fmt.Fprintf(p.stderr, "hapax-server at %s: %v\n", address, err)
		return exitFailure
	}
	fmt.Fprintf(p.stdout, "hapax-server at %s: PONG\n", address)
	return exitOK
}

// healthAddress is where a client of this machine finds the server.
func (p *process) healthAddress(cfg *config.Config) (network, address string) {
	port := cfg.Int("port")
	if port == 0 {
		return "unix", p.path(cfg.Text("unixsocket"))
	}
	host := "127.0.0.1"
	if binds := cfg.List("bind"); len(binds) > 0 {
		host = strings.TrimPrefix(binds[0], "-")
	}
	switch host {
	case "*", "0.0.0.0":
		host = "127.0.0.1"
	case "::*", "::":
		host = "::1"
	}
	return "tcp", net.JoinHostPort(host, strconv.FormatInt(port, 10))
}

// ping authenticates if there is a password, and wants PONG.
func ping(network, address, password string) error {
	conn, err := net.DialTimeout(network, address, healthTimeout)
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(healthTimeout)); err != nil {
		return err
	}
	replies := bufio.NewReader(conn)
	if password != "" {
		if err := ask(conn, replies, "+OK", "AUTH", password); err != nil {
			return err
		}
	}
	return ask(conn, replies, "+PONG", "PING")
}

// ask sends one command and wants one line.
func ask(conn net.Conn, replies *bufio.Reader, want string, args ...string) error {
	var w resp.Writer
	w.Array(len(args))
	for _, a := range args {
		w.BulkString(a)
	}
	if _, err := conn.Write(w.Buf); err != nil {
		return err
	}
	line, err := replies.ReadString('\n')
	if err != nil {
		return err
	}
	if line = strings.TrimRight(line, "\r\n"); line != want {
		return errors.New(line)
	}
	return nil
}

// containerArgs is what the container's server was started with: its flags are
// not those of the health check, which runs beside it with the image's own
// command. It is process 1 and runs the same program.
func containerArgs() []string {
	raw, err := os.ReadFile("/proc/1/cmdline")
	if err != nil {
		return nil
	}
	argv := strings.Split(strings.TrimSuffix(string(raw), "\x00"), "\x00")
	if filepath.Base(argv[0]) != filepath.Base(os.Args[0]) || slices.Contains(argv, "-") {
		return nil
	}
	args := argv[1:]
	if len(args) > 0 && slices.Contains(programNames, filepath.Base(args[0])) {
		args = args[1:]
	}
	return args
}
