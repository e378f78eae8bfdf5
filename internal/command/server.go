package command

// serverFamily is the commands about the server.
var serverFamily = []Command{}
