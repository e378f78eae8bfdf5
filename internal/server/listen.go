package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"syscall"
)

// listener is one bound address.
type listener struct {
	net.Listener
	unixSocket bool
}

// bindAttempts is how often a free port is chosen anew when it turns out to be
// taken on another of the addresses.
const bindAttempts = 10

// Listen binds. Addrs tells where, with the ports chosen.
func (s *Server) Listen() error {
	if len(s.listeners) > 0 {
		return errors.New("listening already")
	}
	if !s.opts.NoTCP {
		if err := s.listenTCP(); err != nil {
			return err
		}
	}
	if s.opts.UnixSocket != "" {
		if err := s.listenUnix(); err != nil {
			s.closeListeners()
			return err
		}
	}
	if len(s.listeners) == 0 {
		return errors.New("nothing to listen on: no address could be bound and there is no unix socket")
	}
	return nil
}

func (s *Server) listenTCP() error {
	var err error
	for range bindAttempts {
		if err = s.bindAll(); err == nil || s.opts.Port != 0 || !errors.Is(err, syscall.EADDRINUSE) {
			break
		}
	}
	return err
}

// bindAll binds every address to one port.
func (s *Server) bindAll() error {
	binds := s.opts.Binds
	if len(binds) == 0 {
		binds = []string{"127.0.0.1"}
	}
	port := s.opts.Port
	for _, bind := range binds {
		host, optional := strings.CutPrefix(bind, "-")
		l, err := listenHost(host, port)
		if err != nil {
			if optional {
				s.logf(LevelVerbose, "Not listening on %s: %v", host, err)
				continue
			}
			s.closeListeners()
			return fmt.Errorf("could not listen on %s port %d: %w", host, port, err)
		}
		if port == 0 {
			port = l.Addr().(*net.TCPAddr).Port
		}
		s.setBacklog(l)
		s.listeners = append(s.listeners, &listener{Listener: l})
	}
	return nil
}

// listenHost binds one address: * and ::* are all of IPv4 and of IPv6.
func listenHost(host string, port int) (net.Listener, error) {
	network := "tcp"
	switch host {
	case "*":
		network, host = "tcp4", "0.0.0.0"
	case "::*":
		network, host = "tcp6", "::"
	}
	if ip := net.ParseIP(host); ip != nil {
		network = "tcp6"
		if ip.To4() != nil && !strings.Contains(host, ":") {
			network = "tcp4"
		}
	}
	config := net.ListenConfig{KeepAlive: -1} // set per connection, by tcp-keepalive
	return config.Listen(context.Background(), network, net.JoinHostPort(host, strconv.Itoa(port)))
}

// listenUnix replaces a socket file that an earlier process left.
func (s *Server) listenUnix() error {
	path := s.opts.UnixSocket
	if c, err := net.Dial("unix", path); err == nil {
		c.Close()
		return fmt.Errorf("unix socket %s: another server answers there", path)
	}
	l, err := bindUnix(path, s.opts.UnixSocketPerm)
	if err != nil {
		return fmt.Errorf("unix socket %s: %w", path, err)
	}
	s.setBacklog(l)
	s.listeners = append(s.listeners, &listener{Listener: l, unixSocket: true})
	return nil
}

func (s *Server) closeListeners() {
	for _, l := range s.listeners {
		l.Close()
	}
	s.listeners = nil
}

// Addrs is where the server listens.
func (s *Server) Addrs() []net.Addr {
	addrs := make([]net.Addr, len(s.listeners))
	for i, l := range s.listeners {
		addrs[i] = l.Addr()
	}
	return addrs
}

func (s *Server) tcpPort() int {
	for _, a := range s.Addrs() {
		if tcp, ok := a.(*net.TCPAddr); ok {
			return tcp.Port
		}
	}
	return 0
}

// Refusals of a new connection; Redis's texts, which clients match on.
const (
	refusedFull      = "-ERR max number of clients reached\r\n"
	refusedProtected = "-DENIED Redis is running in protected mode because protected mode is enabled and no password is set for the default user. " +
		"In this mode connections are only accepted from the loopback interface. " +
		"If you want to connect from external computers to Redis you may adopt one of the following solutions: " +
		"1) Just disable protected mode sending the command 'CONFIG SET protected-mode no' from the loopback interface by connecting to Redis from the same host the server is running, however MAKE SURE Redis is not publicly accessible from internet if you do so. Use CONFIG REWRITE to make this change permanent. " +
		"2) Alternatively you can just disable the protected mode by editing the Redis configuration file, and setting the protected mode option to 'no', and then restarting the server. " +
		"3) If you started the server manually just for testing, restart it with the '--protected-mode no' option. " +
		"4) Set up an authentication password for the default user. " +
		"NOTE: You only need to do one of the above things in order for the server to start accepting connections from the outside.\r\n"
)

// refusal says with what a new connection is turned away, "" when it is
// welcome.
func (s *Server) refusal(c *client) string {
	t := s.tun.Load()
	switch {
	case s.clients.count.Load() >= int64(t.MaxClients):
		s.totals.add(func(sum *sums) { sum.rejectedConnections++ })
		return refusedFull
	case t.ProtectedMode && t.Password == "" && !c.local():
		s.totals.add(func(sum *sums) { sum.rejectedConnections++ })
		return refusedProtected
	}
	return ""
}

// welcome enters a session in the registry.
func (s *Server) welcome(c *Session) {
	s.clients.add(c)
	s.totals.add(func(sum *sums) { sum.connections++ })
}
