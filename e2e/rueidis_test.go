package e2e

import (
	"context"
	"errors"
	"reflect"
	"sync"
	"testing"

	"github.com/redis/rueidis"
)

// TestRueidis uses rueidis, which says HELLO 3, pipelines what its goroutines
// ask at the same time, and by default wants client-side caching. There is no
// CLIENT TRACKING yet: without DisableCache, its own switch for such servers,
// the client says so; with it everything works.
func TestRueidis(t *testing.T) {
	s := start(t, t.TempDir())
	ctx := context.Background()

	if c, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{s.addr}}); !errors.Is(err, rueidis.ErrNoCache) {
		t.Errorf("with caching on: %v, want %v", err, rueidis.ErrNoCache)
		if err == nil {
			c.Close()
		}
	}

	c, err := rueidis.NewClient(rueidis.ClientOption{
		InitAddress: []string{s.addr}, DisableCache: true, ForceSingleClient: true, ClientName: "till",
	})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()

	var wg sync.WaitGroup
	for range 64 {
		wg.Go(func() {
			for range 200 {
				if err := c.Do(ctx, c.B().Incr().Key("n").Build()).Error(); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	if n, err := c.Do(ctx, c.B().Get().Key("n").Build()).AsInt64(); err != nil || n != 64*200 {
		t.Errorf("64 goroutines counted to %d, %v", n, err)
	}
	if err := c.Do(ctx, c.B().Get().Key("none").Build()).Error(); !rueidis.IsRedisNil(err) {
		t.Errorf("get of nothing: %v", err)
	}
	m, err := c.Do(ctx, c.B().ConfigGet().Parameter("appendfsync").Build()).AsStrMap()
	if err != nil || m["appendfsync"] != "always" {
		t.Errorf("config get: %v, %v", m, err)
	}

	begin := func(owner string) []string {
		t.Helper()
		cmd := c.B().Arbitrary("IDEM").Keys("order:42").Args("BEGIN", "digest", owner, "60000").Build()
		state, err := c.Do(ctx, cmd).AsStrSlice()
		if err != nil {
			t.Error(err)
		}
		return state
	}
	if got := begin("attempt"); !reflect.DeepEqual(got, []string{"acquired"}) {
		t.Errorf("begin: %q", got)
	}
	if got := begin("another"); !reflect.DeepEqual(got, []string{"pending"}) {
		t.Errorf("begin by another: %q", got)
	}
	complete := c.B().Arbitrary("IDEM").Keys("order:42").Args("COMPLETE", "digest", "attempt", "saved").Build()
	if n, err := c.Do(ctx, complete).AsInt64(); err != nil || n != 1 {
		t.Errorf("complete: %d, %v", n, err)
	}
	if got := begin("another"); !reflect.DeepEqual(got, []string{"completed", "saved"}) {
		t.Errorf("replay: %q", got)
	}
}
