package load

import (
	"fmt"
	"strings"
	"testing"
)

// machine is the state machine of IDEM, written down once more.
type machine map[string]*struct{ digest, result string }

func (m machine) answer(args []string) (string, string) {
	key, digest := args[1], args[3]
	r := m[key]
	if args[2] == "COMPLETE" {
		if r == nil || r.digest != digest {
			return "refused", ":0\r\n"
		}
		r.result = args[5]
		return "published", ":1\r\n"
	}
	switch {
	case r == nil:
		m[key] = &struct{ digest, result string }{digest: digest}
		return "acquired", "*1\r\n$8\r\nacquired\r\n"
	case r.digest != digest:
		return "conflict", "*1\r\n$8\r\nconflict\r\n"
	case r.result == "":
		return "pending", "*1\r\n$7\r\npending\r\n"
	}
	return "completed", fmt.Sprintf("*2\r\n$9\r\ncompleted\r\n$%d\r\n%s\r\n", len(r.result), r.result)
}

// arguments of the one request in b.
func arguments(b []byte) []string {
	var args []string
	for _, part := range strings.Split(string(b), "\r\n") {
		if part != "" && part[0] != '$' && part[0] != '*' {
			args = append(args, part)
		}
	}
	return args
}

// TestIdemScript expects of a right state machine exactly what it answers, and
// sends about what its mix says, with and without a pipeline.
func TestIdemScript(t *testing.T) {
	for _, pipeline := range []int{1, 16} {
		m := machine{}
		const clients = 3
		counts := map[string]int{}
		total := 0
		for client := range clients {
			s := NewIdem(Dialect{}, Mix{Replays: 20, Conflicts: 10, Pending: 10}, []byte("result"), client, clients, 1000)
			for range 4000 / pipeline {
				var replies []string
				for range pipeline {
					name, reply := m.answer(arguments(s.Append(nil)))
					counts[name]++
					total++
					replies = append(replies, reply)
				}
				var r reader
				for _, reply := range replies {
					if _, done, err := r.next([]byte(reply)); !done || err != nil {
						t.Fatal(done, err)
					}
					if err := s.Reply(&r.reply); err != nil {
						t.Fatal(err)
					}
				}
			}
		}
		begins := total - counts["published"]
		share := func(name string) int { return 100 * counts[name] / begins }
		if counts["refused"] > 0 || share("completed") < 17 || share("completed") > 23 || share("conflict") < 8 || share("conflict") > 12 {
			t.Errorf("pipeline %d: %v of %d", pipeline, counts, begins)
		}
		if pipeline > 1 && counts["pending"] == 0 {
			t.Errorf("pipeline %d: nothing was asked for while it ran: %v", pipeline, counts)
		}
		if left := counts["acquired"] - counts["published"]; left < 0 || left > clients*pipeline {
			t.Errorf("pipeline %d: %d operations were left open", pipeline, left)
		}
	}
}

// TestOutcomes: each is told from the others, and from a result of another
// size.
func TestOutcomes(t *testing.T) {
	replies := map[outcome]Reply{
		acquired: {Kind: '*', Head: []byte("acquired"), Bytes: 8}, pending: {Kind: '*', Head: []byte("pending"), Bytes: 7},
		conflict: {Kind: '*', Head: []byte("conflict"), Bytes: 8}, completed: {Kind: '*', Head: []byte("completed"), Bytes: 9 + 5},
		published: {Kind: ':', Head: []byte("1")},
	}
	for want := range replies {
		for got, r := range replies {
			if err := want.check(&r, 5); (err == nil) != (want == got) {
				t.Errorf("want %s, got %s: %v", outcomeNames[want], outcomeNames[got], err)
			}
		}
	}
	short := replies[completed]
	if completed.check(&short, 6) == nil {
		t.Error("a result of another size passed")
	}
}
