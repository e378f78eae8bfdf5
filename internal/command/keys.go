package command

// keysFamily is declared here and filled by its file.
var keysFamily = []Command{}
