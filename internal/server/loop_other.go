//go:build !linux

package server

import "github.com/hapaxkv/hapax/internal/netpoll"

const loopsAvailable = netpoll.Available

// newLoops fails where there is no epoll.
func newLoops(*Server) (backend, error) { return nil, netpoll.ErrUnavailable }
