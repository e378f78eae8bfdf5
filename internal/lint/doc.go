// Package lint holds the rules of this repository that a compiler cannot: who
// may import whom, where clocks and files may be touched, how long a file may
// get, and that the documents speak of code that exists.
//
// The rules live in its tests, so that `go test ./...` enforces them. Each rule
// is a function from a tree to its findings; it runs over the real tree, where
// it must find nothing, and over small broken trees, where it must find exactly
// what was broken. The package never changes a file.
package lint
