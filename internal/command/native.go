package command

// nativeFamily is declared here and filled by its file.
var nativeFamily = []Command{}
