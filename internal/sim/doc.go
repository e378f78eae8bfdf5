// Package sim is the seeded crash simulation: sessions of the server and the
// engine on one goroutine, with time moved by hand and a file system in memory
// that loses and breaks things. Tests only.
//
// It promises that a seed gives the same run every time, bit for bit, and that
// what is checked is what the documents promise: the model (model_*_test.go)
// is written from them and shares no code with the server.
//
// Where to begin: world_test.go is the machine, client_test.go what its clients
// see, history_test.go what a crash may leave. random_test.go and
// everywhere_test.go are the runs, scenarios_test.go the known failures of
// others, linear_test.go the only part with real goroutines and sockets.
package sim
