package e2e

import (
	"fmt"
	"maps"
	"strings"

	"github.com/gomodule/redigo/redis"
)

// swapper has databases 1 and 2 for itself. What it does to them as a whole is
// what a snapshot in its middle has to get right: each half of it was written
// before or after. The keys of its state are "database/key".
type swapper struct{ *private }

func newSwapper() swapper {
	return swapper{&private{known: state{}, ahead: state{}}}
}

// swapperKeys is enough for slots all over the walk of a snapshot.
const swapperKeys = 60

func (p swapper) next(w *killWorker) []request {
	db := 1 + w.rnd.IntN(2)
	other := 3 - db
	key := fmt.Sprintf("s%d", w.rnd.IntN(swapperKeys))
	here, there := fmt.Sprintf("%d/%s", db, key), fmt.Sprintf("%d/%s", other, key)
	value := w.token()
	switch w.rnd.IntN(12) {
	case 0:
		return []request{p.request("SWAPDB", []any{db, other}, "OK", swap)}
	case 1:
		return p.in(db, p.request("FLUSHDB", nil, "OK", func(s state) {
			maps.DeleteFunc(s, func(at string, _ held) bool { return strings.HasPrefix(at, here[:2]) })
		}))
	case 2:
		_, found := p.ahead[here]
		_, taken := p.ahead[there]
		return p.in(db, p.request("MOVE", []any{key, other}, count(found && !taken), func(s state) {
			if _, taken := s[there]; taken {
				return
			}
			if h, found := s[here]; found {
				s[there] = h
				delete(s, here)
			}
		}))
	case 3:
		_, found := p.ahead[here]
		return p.in(db, p.request("COPY", []any{key, key, "DB", other, "REPLACE"}, count(found), func(s state) {
			if h, found := s[here]; found {
				s[there] = h
			}
		}))
	default:
		// Several at once, which are there together or not at all.
		args := []any{}
		for i := range 5 {
			args = append(args, fmt.Sprintf("s%d", (w.rnd.IntN(swapperKeys/5))*5+i), value)
		}
		return p.in(db, p.request("MSET", args, "OK", func(s state) {
			for i := 0; i < len(args); i += 2 {
				s[fmt.Sprintf("%d/%s", db, args[i])] = held{value, -1}
			}
		}))
	}
}

// in sends r to a database; the connection is back in 0 afterwards.
func (p swapper) in(db int, r request) []request {
	return []request{choose(db), r, choose(0)}
}

func choose(db int) request {
	return request{name: "SELECT", args: []any{db}, reply: func(got any, err error) error {
		if err != nil || got != "OK" {
			return fmt.Errorf("got %v, %v, want OK", got, err)
		}
		return nil
	}}
}

func swap(s state) {
	swapped := state{}
	for at, h := range s {
		swapped[fmt.Sprintf("%d/%s", 3-int(at[0]-'0'), at[2:])] = h
	}
	clear(s)
	maps.Copy(s, swapped)
}

func (p swapper) check(c redis.Conn) error {
	found := state{}
	for db := 1; db <= 2; db++ {
		if _, err := c.Do("SELECT", db); err != nil {
			return err
		}
		for i := range swapperKeys {
			key := fmt.Sprintf("s%d", i)
			value, err := redis.String(c.Do("GET", key))
			if err == redis.ErrNil {
				continue
			}
			if err != nil {
				return err
			}
			found[fmt.Sprintf("%d/%s", db, key)] = held{value, -1}
		}
		n, err := redis.Int(c.Do("DBSIZE"))
		if here := inDatabase(found, db); err != nil || n != here {
			return fmt.Errorf("database %d has %d keys, %v, and %d of them are known", db, n, err, here)
		}
	}
	if _, err := c.Do("SELECT", 0); err != nil {
		return err
	}
	return p.settle(found)
}

func inDatabase(s state, db int) int {
	n := 0
	for at := range s {
		if int(at[0]-'0') == db {
			n++
		}
	}
	return n
}
