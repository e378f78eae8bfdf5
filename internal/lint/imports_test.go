package lint

import (
	"path"
	"slices"
	"sort"
	"strconv"
	"strings"
	"testing"
)

// allowed is the table of who may import whom below internal/, for production
// code. Arrows go one way: from what answers a client down to what keeps bytes.
// A package that is missing here fails, so that a new one is placed on purpose.
var allowed = map[string][]string{
	"slot":     {},
	"op":       {},
	"idem":     {},
	"resp":     {},
	"clock":    {},
	"vfs":      {},
	"netpoll":  {},
	"config":   {},
	"wal":      {"vfs"},
	"shard":    {"slot", "op", "wal"},
	"command":  {"shard", "op", "idem", "resp", "slot", "wal"},
	"snapshot": {"op", "vfs", "wal"},
	"engine":   {"shard", "wal", "snapshot", "op", "slot", "vfs", "clock"},
	"inspect":  {"engine", "wal", "snapshot", "op", "idem", "vfs", "slot"},
	"server":   {"command", "engine", "shard", "wal", "resp", "netpoll", "clock"},
	"lint":     {},
	"script":   anything,
	"sim":      anything,
}

// anything marks packages that only tests import; they may import all others.
var anything = []string{"*"}

// importers restricts who may import a package, where the table above is not
// enough: nil is "tests only".
var importers = map[string][]string{
	"config":  {"cmd/server"},
	"script":  nil,
	"sim":     nil,
	"inspect": {"cmd/server"},
	"lint":    nil,
}

// libraries are the modules that the root module may use, and where.
var libraries = map[string][]string{
	"github.com/tidwall/redcon":         {"internal/resp"},
	"golang.org/x/sys/unix":             {"internal/shard", "internal/vfs", "internal/netpoll", "internal/server", "internal/clock", "cmd/server"},
	"github.com/stretchr/testify/*":     {}, // tests only
	"github.com/cespare/xxhash/*":       {}, // tests only
	"github.com/anishathalye/porcupine": {}, // tests only
}

func checkImports(t *tree) []finding {
	var out []finding
	for _, s := range t.sources {
		if strings.HasPrefix(s.dir, "e2e") || strings.HasPrefix(s.dir, "bench") || strings.HasPrefix(s.dir, "tools") {
			continue // modules of their own
		}
		for _, spec := range s.file.Imports {
			target, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				continue // the compiler says so
			}
			if why := refuseImport(s, target); why != "" {
				out = append(out, find(s.at(spec.Pos()), "%s", why))
			}
		}
	}
	return out
}

// refuseImport says why s may not import target, or "".
func refuseImport(s *source, target string) string {
	if below, ok := strings.CutPrefix(target, modulePath+"/internal/"); ok {
		name, _, _ := strings.Cut(below, "/")
		return refuseInternal(s, name)
	}
	if !strings.Contains(target, ".") || strings.HasPrefix(target, modulePath) {
		return "" // the standard library, or a public package of ours
	}
	for pattern, dirs := range libraries {
		if ok, _ := path.Match(pattern, target); ok {
			if s.isTest() || slices.Contains(dirs, s.dir) {
				return ""
			}
			return target + " may be imported by " + strings.Join(append(dirs, "tests"), ", ") + " only"
		}
	}
	return target + " is not among the libraries that the server may use"
}

func refuseInternal(s *source, name string) string {
	if s.isTest() {
		return ""
	}
	if who, restricted := importers[name]; restricted && !slices.Contains(who, s.dir) {
		return "internal/" + name + " may not be imported here"
	}
	from := s.internalPackage()
	switch {
	case strings.HasPrefix(s.dir, "cmd/"):
		return ""
	case from == "":
		return "a public package imports internal/" + name
	case from == name:
		return ""
	}
	may, listed := allowed[from]
	if !listed || slices.Contains(may, name) || slices.Contains(may, "*") {
		return "" // a package that isn't listed is checkImportTable's finding
	}
	return "internal/" + from + " may not import internal/" + name
}

// checkImportTable keeps the table and the tree in step.
func checkImportTable(t *tree) []finding {
	present := map[string]bool{}
	for _, s := range t.sources {
		if name := s.internalPackage(); name != "" {
			present[name] = true
		}
	}
	var out []finding
	for name := range present {
		if _, ok := allowed[name]; !ok {
			out = append(out, find("internal/"+name, "the import table has no row for this package"))
		}
	}
	for name := range allowed {
		if !present[name] {
			out = append(out, find("internal/"+name, "the import table has a row for a package that is gone"))
		}
	}
	sort.Slice(out, func(i, j int) bool { return out[i] < out[j] })
	return out
}

func TestImportsBroken(t *testing.T) {
	pkg := func(name string, imports ...string) string {
		text := "package " + name + "\n"
		for _, i := range imports {
			text += "import _ \"" + i + "\"\n"
		}
		return text
	}
	in := func(name string) string { return modulePath + "/internal/" + name }
	provesBroken(t, checkImports, []broken{
		{"log imports keyspace", map[string]string{
			"internal/wal/a.go": pkg("wal", in("vfs"), in("shard")),
		}, []string{"internal/wal/a.go:3: internal/wal may not import internal/shard"}},
		{"handlers import the server", map[string]string{
			"internal/command/a.go":      pkg("command", in("server")),
			"internal/command/a_test.go": pkg("command", in("server")),
		}, []string{"internal/command/a.go:2: "}},
		{"config outside the daemon", map[string]string{
			"internal/server/a.go": pkg("server", in("config")),
			"cmd/server/main.go":   pkg("main", in("config"), in("server")),
		}, []string{"internal/server/a.go:2: internal/config may not be imported here"}},
		{"public package", map[string]string{
			"client/a.go": pkg("client", in("resp")),
		}, []string{"client/a.go:2: a public package imports internal/resp"}},
		{"library in the wrong place", map[string]string{
			"internal/server/a.go": pkg("server", "github.com/tidwall/redcon"),
			"internal/resp/a.go":   pkg("resp", "github.com/tidwall/redcon"),
			"internal/shard/a.go":  pkg("shard", "github.com/stretchr/testify/require"),
		}, []string{"internal/server/a.go:2: ", "internal/shard/a.go:2: "}},
		{"unknown library", map[string]string{
			"internal/op/a_test.go": pkg("op", "example.com/fast/json"),
		}, []string{"internal/op/a_test.go:2: example.com/fast/json is not among"}},
	})
	t.Run("unplaced package", func(t *testing.T) {
		files := map[string]string{"internal/gossip/a.go": pkg("gossip")}
		for name := range allowed {
			if name != "clock" {
				files["internal/"+name+"/a.go"] = pkg(name)
			}
		}
		provesBroken(t, checkImportTable, []broken{{"both ways", files, []string{
			"internal/clock: the import table has a row",
			"internal/gossip: the import table has no row",
		}}})
	})
}
