package command

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Not parallel: it changes the table's names.
func TestRenames(t *testing.T) {
	r := NewRenames()
	require.False(t, r.Any())
	for _, p := range [][2]string{{"FLUSHALL", ""}, {"config", "Secret"}, {"get", "config"}, {"del", "DEL"}} {
		require.NoError(t, r.Rename(p[0], p[1]))
	}
	require.True(t, r.Any())
	require.NotNil(t, Lookup([]byte("flushall")), "nothing changes before Use")

	undo := r.Use()
	require.Nil(t, Lookup([]byte("flushall")))
	require.Nil(t, Lookup([]byte("get")))
	require.Equal(t, "get", Lookup([]byte("CONFIG")).FullName())
	require.Equal(t, "config", Lookup([]byte("sEcReT")).FullName())
	require.Equal(t, "del", Lookup([]byte("del")).FullName())
	row, err := Resolve([][]byte{[]byte("secret"), []byte("GET"), []byte("port")})
	require.NoError(t, err)
	require.Equal(t, "config|get", row.FullName())
	undo()

	require.Equal(t, "get", Lookup([]byte("get")).FullName())
	require.Nil(t, Lookup([]byte("secret")))
}

func TestRenamesRefused(t *testing.T) {
	r := NewRenames()
	require.EqualError(t, r.Rename("NOSUCH", "x"), "no such command: NOSUCH")
	require.EqualError(t, r.Rename("get", "Set"), "target command name already exists: Set")
	require.NoError(t, r.Rename("get", ""), "the refused statement left it where it was")
	require.EqualError(t, r.Rename("get", "x"), "no such command: get")
}
