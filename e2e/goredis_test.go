package e2e

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"sort"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// TestGoRedis drives the server through go-redis as an application would, with
// the options it has by default, in both protocols.
func TestGoRedis(t *testing.T) {
	for _, protocol := range []int{2, 3} {
		t.Run(fmt.Sprintf("RESP%d", protocol), func(t *testing.T) {
			s := start(t, t.TempDir())
			c := redis.NewClient(&redis.Options{Addr: s.addr, Protocol: protocol, ClientName: "till"})
			defer c.Close()
			ctx := context.Background()
			check := func(what string, got, want any, err error) {
				t.Helper()
				if err != nil {
					t.Errorf("%s: %v", what, err)
				} else if !reflect.DeepEqual(got, want) {
					t.Errorf("%s: got %v, want %v", what, got, want)
				}
			}

			pong, err := c.Ping(ctx).Result()
			check("ping", pong, "PONG", err)
			name, err := c.ClientGetName(ctx).Result()
			check("name", name, "till", err)

			set, err := c.Set(ctx, "a", "1", time.Hour).Result()
			check("set", set, "OK", err)
			nx, err := c.SetNX(ctx, "a", "2", 0).Result()
			check("set nx", nx, false, err)
			old, err := c.SetArgs(ctx, "a", "2", redis.SetArgs{Get: true, KeepTTL: true}).Result()
			check("set get", old, "1", err)
			n, err := c.IncrBy(ctx, "a", 40).Result()
			check("incrby", n, int64(42), err)
			if ttl, err := c.TTL(ctx, "a").Result(); err != nil || ttl <= 59*time.Minute || ttl > time.Hour {
				t.Errorf("ttl: %v, %v", ttl, err)
			}
			if _, err := c.Get(ctx, "none").Result(); !errors.Is(err, redis.Nil) {
				t.Errorf("get of nothing: %v", err)
			}
			f, err := c.IncrByFloat(ctx, "f", 0.5).Result()
			check("incrbyfloat", f, 0.5, err)

			goRedisPipeline(t, ctx, c)
			goRedisScan(t, ctx, c)

			lcs, err := c.LCS(ctx, &redis.LCSQuery{Key1: "p:1", Key2: "p:11", Idx: true, WithMatchLen: true}).Result()
			check("lcs", lcs, &redis.LCSMatch{Len: 1, Matches: []redis.LCSMatchedPosition{{
				Key1: redis.LCSPosition{Start: 0, End: 0}, Key2: redis.LCSPosition{Start: 1, End: 1}, MatchLen: 1,
			}}}, err)
			if _, err := c.Info(ctx, "server", "clients").Result(); err != nil {
				t.Errorf("info: %v", err)
			}
			if commands, err := c.Command(ctx).Result(); err != nil || commands["idem"] == nil {
				t.Errorf("command: %d rows, %v", len(commands), err)
			}
			config, err := c.ConfigGet(ctx, "maxmemory-policy").Result()
			check("config get", config, map[string]string{"maxmemory-policy": "noeviction"}, err)

			begin := func(fingerprint, owner string) []any {
				reply, err := c.Do(ctx, "IDEM", "order:42", "BEGIN", fingerprint, owner, 60000).Slice()
				if err != nil {
					t.Errorf("begin: %v", err)
				}
				return reply
			}
			check("begin", begin("digest", "attempt"), []any{"acquired"}, nil)
			check("begin again", begin("digest", "attempt"), []any{"pending"}, nil)
			check("begin otherwise", begin("other", "attempt"), []any{"conflict"}, nil)
			done, err := c.Do(ctx, "IDEM", "order:42", "COMPLETE", "digest", "attempt", "\x00saved\r\n").Int()
			check("complete", done, 1, err)
			check("replay", begin("digest", "next"), []any{"completed", "\x00saved\r\n"}, nil)
			if err := c.Do(ctx, "IDEM", "order:42", "BEGIN", "", "attempt", 1).Err(); err == nil {
				t.Error("an empty fingerprint was accepted")
			}
		})
	}
}

func goRedisPipeline(t *testing.T, ctx context.Context, c *redis.Client) {
	t.Helper()
	pipe := c.Pipeline()
	for i := range 500 {
		pipe.Set(ctx, fmt.Sprintf("p:%d", i), i, 0)
		pipe.Incr(ctx, fmt.Sprintf("p:%d", i))
	}
	replies, err := pipe.Exec(ctx)
	if err != nil || len(replies) != 1000 {
		t.Fatalf("pipeline: %d replies, %v", len(replies), err)
	}
	for i := range 500 {
		if got := replies[2*i+1].(*redis.IntCmd).Val(); got != int64(i+1) {
			t.Fatalf("pipeline: reply %d is %d", 2*i+1, got)
		}
	}
	values, err := c.MGet(ctx, "p:1", "none", "p:2").Result()
	if want := []any{"2", nil, "3"}; err != nil || !reflect.DeepEqual(values, want) {
		t.Errorf("mget: %v, %v", values, err)
	}
}

func goRedisScan(t *testing.T, ctx context.Context, c *redis.Client) {
	t.Helper()
	seen := map[string]bool{}
	for it := c.Scan(ctx, 0, "p:*", 50).Iterator(); ; {
		if !it.Next(ctx) {
			if it.Err() != nil {
				t.Errorf("scan: %v", it.Err())
			}
			break
		}
		seen[it.Val()] = true
	}
	keys, err := c.Keys(ctx, "p:*").Result()
	sort.Strings(keys)
	if err != nil || len(seen) != 500 || len(keys) != 500 {
		t.Errorf("scan found %d, keys %d of 500 (%v)", len(seen), len(keys), err)
	}
}
