package command

// connectionFamily is the commands about the connection itself.
var connectionFamily = []Command{}
