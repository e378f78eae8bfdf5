package config

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write docs/configuration.md anew")

const docsPage = "../../docs/configuration.md"

// The page is the table: what it says of a directive is what the code does.
func TestDocumentationIsTheTable(t *testing.T) {
	want := docsText()
	if *update {
		require.NoError(t, os.WriteFile(docsPage, []byte(want), 0o644))
	}
	got, err := os.ReadFile(docsPage)
	require.NoError(t, err)
	gotLines, wantLines := strings.Split(string(got), "\n"), strings.Split(want, "\n")
	for i := range min(len(gotLines), len(wantLines)) {
		require.Equal(t, wantLines[i], gotLines[i], "line %d; run: go test ./internal/config -run Documentation -update", i+1)
	}
	require.Len(t, gotLines, len(wantLines))
}

func TestEveryLiveDirectiveIsExplained(t *testing.T) {
	for _, d := range directives {
		require.Equal(t, d.doc == "", d.group.idle, "%s: live directives have a text, idle groups none", d.name)
	}
}

const docsHead = `# Configuration

<!-- Made from the table in internal/config: go test ./internal/config -run Documentation -update -->

Hapax takes Redis's directives by their names, from four places. A later one wins:

1. the defaults below;
2. a configuration file, the first argument: ` + "`hapax-server /etc/hapax.conf`" + `; ` + "`-`" + ` reads standard input;
3. the environment: ` + "`HAPAX_MAXMEMORY_POLICY`" + ` is ` + "`maxmemory-policy`" + `;
4. flags: ` + "`--maxmemory 64mb`, `--maxmemory=64mb`, `--save 60 1 --save \"\"`" + `.

` + "`hapax-server --check-config`" + ` with the same arguments reads all of it, prints what is wrong and ends with 0 or 1.

## The file

One directive a line, ` + "`name value…`" + `; ` + "`#`" + ` begins a comment. Values with spaces stand in quotes: double ones know ` + "`\\xHH \\n \\r \\t \\b \\a \\\" \\\\`" + `, single ones only ` + "`\\'`" + `.

- A directive that is repeated counts with its last line; the lines of ` + "`save`" + ` add up, ` + "`save \"\"`" + ` forgets those before it; ` + "`client-output-buffer-limit`" + ` changes the classes it names.
- ` + "`include path`" + ` reads another file: beside the one that names it, else in the working directory. A pattern (` + "`conf.d/*.conf`" + `) may match nothing. At most 16 levels.
- Sizes take ` + "`k m g`" + ` (thousands) and ` + "`kb mb gb`" + ` (1024s).
- ` + "`rename-command NAME OTHER`" + ` gives a command another name, ` + "`rename-command NAME \"\"`" + ` takes it away.
- A directive of Redis that means nothing here is accepted and named in a warning. An unknown name is an error, which says the name that was probably meant.
- What would be dangerous to ignore is an error: ` + "`replicaof`, `aclfile`, `user` (but for an all-powerful default user), `loadmodule`" + `.

Variables that begin with ` + "`HAPAX_`" + ` and name no directive are left alone; a near miss is named in a warning. ` + "`HAPAX_PORT=tcp://…`" + `, which Kubernetes sets beside a service named hapax, is ignored.

## While running

` + "`CONFIG SET`" + ` changes the directives marked *yes* below, several at a time, all or none. ` + "`CONFIG GET`" + ` answers for every directive. ` + "`CONFIG REWRITE`" + ` brings the file up to date and keeps its comments.
`

func docsText() string {
	var b strings.Builder
	b.WriteString(docsHead)
	for _, s := range Describe() {
		if !s.Idle {
			writeSection(&b, s)
		}
	}
	b.WriteString("\n## Accepted without effect\n\nKnown from Redis 7.2, checked, shown by `CONFIG GET`, and without effect.\n")
	for _, s := range Describe() {
		if s.Idle {
			fmt.Fprintf(&b, "\n%s: %s.\n", s.Title, idleNames(s.Rows))
		}
	}
	return b.String()
}

func writeSection(b *strings.Builder, s Section) {
	fmt.Fprintf(b, "\n## %s\n\n%s\n\n| directive | default | values | while running | |\n|---|---|---|---|---|\n", s.Title, s.Intro)
	for _, r := range s.Rows {
		runtime := "no"
		if r.Runtime {
			runtime = "yes"
		}
		fmt.Fprintf(b, "| `%s` | `%s` | %s | %s | %s |\n", r.Name, r.Default, r.Values, runtime, r.Doc)
	}
}

func idleNames(rows []Row) string {
	var out []string
	for _, r := range rows {
		name := "`" + r.Name + "`"
		if r.Alias != "" {
			name += " (`" + r.Alias + "`)"
		}
		out = append(out, name)
	}
	return strings.Join(out, ", ")
}
