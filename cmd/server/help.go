package main

import (
	"fmt"
	"io"
	"runtime"

	"github.com/hapaxkv/hapax/internal/config"
)

func printVersion(w io.Writer) {
	fmt.Fprintf(w, "Hapax server v=%s go=%s %s/%s\n", version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

const helpHead = `Usage: hapax-server [file | -] [--directive value...]

  hapax-server                          serve on 127.0.0.1:6379, data in this directory
  hapax-server /etc/hapax.conf          read a file in redis.conf syntax
  hapax-server - < hapax.conf           read it from standard input
  hapax-server --port 7000 --dir /data  set directives; they win over the file
  HAPAX_PORT=7000 hapax-server          so does the environment, over the file

  hapax-server check|dump|stat|repair|restore --help
                                        tools that work on files, see docs/tools.md

  --check-config   with the same arguments: read everything, print what is wrong
  --healthcheck    ask the server that these arguments describe for a PONG
  -v, --version    print the version
  -h, --help       print this

Directives and their defaults:
`

func printHelp(w io.Writer) {
	fmt.Fprint(w, helpHead)
	for _, s := range config.Describe() {
		if s.Idle {
			continue
		}
		fmt.Fprintf(w, "\n%s\n", s.Title)
		for _, r := range s.Rows {
			fmt.Fprintf(w, "  %-27s %s\n", r.Name, r.Default)
		}
	}
	fmt.Fprint(w, "\nRedis's other directives are accepted and have no effect. docs/configuration.md explains all.\n")
}
