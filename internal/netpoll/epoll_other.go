//go:build !linux

package netpoll

// Available says whether New can work here.
const Available = false

// Poller cannot be made here.
type Poller struct{}

// New fails with ErrUnavailable.
func New() (*Poller, error) { return nil, ErrUnavailable }
