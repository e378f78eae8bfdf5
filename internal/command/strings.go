package command

// stringsFamily is declared here and filled by its file.
var stringsFamily = []Command{}
