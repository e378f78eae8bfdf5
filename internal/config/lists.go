package config

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// reply is an error whose text a client gets word for word, in Redis's
// spelling.
type reply string

func (r reply) Error() string { return string(r) }

// readSave reads pairs of seconds and changes; "" alone forgets all.
func readSave(args []string, before string) (string, error) {
	if len(args) == 1 && args[0] == "" {
		return "", nil
	}
	errSave := reply("Invalid save parameters")
	if len(args)%2 != 0 {
		return "", errSave
	}
	all := strings.Fields(before)
	for i, a := range args {
		least := int64(1 - i%2)
		n, err := strconv.ParseInt(a, 10, 64)
		if err != nil || n < least {
			return "", errSave
		}
		all = append(all, strconv.FormatInt(n, 10))
	}
	return strings.Join(all, " "), nil
}

// checkShutdown refuses what contradicts itself.
func checkShutdown(v string) error {
	if words := strings.Fields(v); slices.Contains(words, "save") && slices.Contains(words, "nosave") {
		return reply("shutdown options SAVE and NOSAVE can't be used simultaneously")
	}
	return nil
}

// maxBinds is how many addresses bind may name.
const maxBinds = 16

func readBind(args []string, _ string) (string, error) {
	if len(args) > maxBinds {
		return "", reply("Too many bind addresses specified.")
	}
	return strings.TrimSpace(strings.Join(args, " ")), nil
}

func readReplicaOf(args []string, _ string) (string, error) {
	if len(args) == 0 || len(args) == 1 && args[0] == "" {
		return "", nil
	}
	if len(args) != 2 {
		return "", errArguments
	}
	if strings.EqualFold(args[0], "no") && strings.EqualFold(args[1], "one") {
		return "", nil
	}
	if port, err := strconv.Atoi(args[1]); err != nil || port < 0 || port > 65535 {
		return "", reply("Invalid master port")
	}
	return args[0] + " " + args[1], nil
}

// outputLimit is client-output-buffer-limit of one class.
type outputLimit struct{ hardBytes, softBytes, softSec int64 }

// outputClasses are the classes in the order CONFIG GET shows them, under the
// names it shows.
var outputClasses = []string{"normal", "slave", "pubsub"}

func readOutputLimits(args []string, before string) (string, error) {
	if len(args)%4 != 0 {
		return "", reply("Wrong number of arguments in buffer limit configuration.")
	}
	limits := parseOutputLimits(before)
	for ; len(args) > 0; args = args[4:] {
		class := strings.ToLower(args[0])
		if class == "replica" {
			class = "slave"
		}
		if _, known := limits[class]; !known {
			return "", reply("Invalid client class specified in buffer limit configuration.")
		}
		hard, hardOK := parseMemory(args[1])
		soft, softOK := parseMemory(args[2])
		sec, err := strconv.ParseInt(args[3], 10, 64)
		if !hardOK || !softOK || err != nil || sec < 0 {
			return "", reply("Error in hard, soft or soft_seconds setting in buffer limit configuration.")
		}
		limits[class] = outputLimit{hard, soft, sec}
	}
	return formatOutputLimits(limits), nil
}

// parseOutputLimits reads the canonical form.
func parseOutputLimits(canonical string) map[string]outputLimit {
	limits := make(map[string]outputLimit, len(outputClasses))
	for f := strings.Fields(canonical); len(f) >= 4; f = f[4:] {
		var l outputLimit
		if _, err := fmt.Sscan(strings.Join(f[1:4], " "), &l.hardBytes, &l.softBytes, &l.softSec); err != nil {
			panic(fmt.Sprintf("config: client-output-buffer-limit holds %q: %v", canonical, err))
		}
		limits[f[0]] = l
	}
	return limits
}

func formatOutputLimits(limits map[string]outputLimit) string {
	out := make([]string, 0, len(outputClasses))
	for _, class := range outputClasses {
		l := limits[class]
		out = append(out, fmt.Sprintf("%s %d %d %d", class, l.hardBytes, l.softBytes, l.softSec))
	}
	return strings.Join(out, " ")
}

func readOOMValues(args []string, _ string) (string, error) {
	if len(args) != 3 {
		return "", errArguments
	}
	for _, a := range args {
		n, err := strconv.Atoi(a)
		if err != nil || n < -2000 || n > 2000 {
			return "", reply("Invalid oom-score-adj-values, elements must be between -2000 and 2000.")
		}
	}
	return strings.Join(args, " "), nil
}

// The classes of keyspace events in the order CONFIG GET shows them; A stands
// for all of eventsAll.
const (
	eventsAll  = "g$lshzxetd"
	eventsRest = "nKEm"
)

func checkEvents(v string) error {
	if strings.Trim(v, "A"+eventsAll+eventsRest) != "" {
		return reply("Invalid event class character. Use 'Ag$lshzxeKEtmdn'.")
	}
	return nil
}

// readEvents sorts the classes and drops repetitions.
func readEvents(args []string, _ string) (string, error) {
	if len(args) == 0 {
		return "", nil
	}
	if len(args) != 1 {
		return "", errArguments
	}
	v := args[0]
	if err := checkEvents(v); err != nil {
		return "", err
	}
	all := chosenOf(eventsAll, v)
	if strings.Contains(v, "A") || all == eventsAll {
		all = "A"
	}
	return all + chosenOf(eventsRest, v), nil
}

func chosenOf(classes, v string) string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune(v, r) {
			return r
		}
		return -1
	}, classes)
}

func readPercentiles(args []string, _ string) (string, error) {
	if len(args) == 1 && args[0] == "" {
		return "", nil
	}
	out := make([]string, 0, len(args))
	for _, a := range args {
		f, err := strconv.ParseFloat(a, 64)
		if err != nil || f != f {
			return "", reply("Invalid latency-tracking-info-percentiles parameters")
		}
		if f < 0 || f > 100 {
			return "", reply("latency-tracking-info-percentiles parameters should sit between [0.0,100.0]")
		}
		out = append(out, strconv.FormatFloat(f, 'f', -1, 64))
	}
	return strings.Join(out, " "), nil
}

// fileName checks that a directive names a file and no path.
func fileName(name, what string, mayBeEmpty bool) func(string) error {
	return func(v string) error {
		if v == "" && !mayBeEmpty {
			return reply(name + " can't be empty")
		}
		if strings.ContainsAny(v, `/\`) {
			return reply(name + " can't be a path, just a " + what)
		}
		return nil
	}
}

// checkHostname checks what a node may call itself.
func checkHostname(v string) error {
	if len(v) >= 256 {
		return reply("Hostnames must be less than 256 characters")
	}
	for _, c := range []byte(v) {
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '.') {
			return reply("Hostnames may only contain alphanumeric characters, hyphens or dots")
		}
	}
	return nil
}
