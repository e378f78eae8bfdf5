package config

import (
	"sort"
	"strings"
)

// envPrefix begins the variables that set directives: HAPAX_MAXMEMORY_POLICY
// is maxmemory-policy.
const envPrefix = "HAPAX_"

// envTypoEdits is how far a variable may be from a directive to be taken for
// a slip of the pen. Others belong to somebody else: they are left alone.
const envTypoEdits = 2

// environment applies the variables in the order of their names.
func (l *loader) environment() {
	env := append([]string(nil), l.in.Environ...)
	sort.Strings(env)
	for _, e := range env {
		variable, value, _ := strings.Cut(e, "=")
		suffix, ours := strings.CutPrefix(variable, envPrefix)
		if !ours {
			continue
		}
		name := strings.ReplaceAll(strings.ToLower(suffix), "_", "-")
		if d, _ := find(name); d == nil {
			if best, n := nearest(name); best != "" && n <= envTypoEdits {
				l.warn("%s is ignored, there is no directive '%s'; did you mean '%s'?", variable, name, best)
			}
			continue
		}
		if isServiceLink(name, value) {
			l.warn("%s is ignored: %s is the address of a service, not a port", variable, value)
			continue
		}
		l.cfg.Variables++
		l.apply(variable, name, []string{value})
	}
}

// isServiceLink recognises what Kubernetes puts into the environment of every
// pod beside a service that is named hapax: HAPAX_PORT=tcp://10.0.0.1:6379.
func isServiceLink(name, value string) bool {
	return name == "port" && strings.Contains(value, "://")
}
