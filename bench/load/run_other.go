//go:build !linux

package load

import "errors"

func run(*Plan) (Result, error) {
	return Result{}, errors.New("the load generator needs epoll: run it on Linux")
}
