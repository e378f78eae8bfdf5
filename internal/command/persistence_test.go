package command

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
)

// The replies are those of Redis 7.0 and 7.2, seen with a child process held
// up; those of CANCEL are Valkey's.

const (
	started   = "Background saving started"
	inTheWay  = replyError("ERR Background save already in progress")
	childText = replyError("ERR Another child process is active (AOF?): can't BGSAVE right now. " +
		"Use BGSAVE SCHEDULE in order to schedule a BGSAVE whenever possible.")
)

// whileRunning answers what a command says while a snapshot runs.
func whileRunning(t *testing.T, cause SnapshotCause, args ...string) (any, *harness, *fakeHost) {
	t.Helper()
	h := newHarness(t)
	host := h.host()
	host.stats.Snapshot.Running, host.stats.Snapshot.Started = cause, 5
	return h.reply(args...), h, host
}

func TestBgSave(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		running SnapshotCause
		option  string
		want    any
	}{
		{CauseNone, "", started},
		{CauseNone, "schedule", started},
		{CauseBgSave, "", inTheWay},
		{CauseBgSave, "SCHEDULE", inTheWay},
		{CauseSave, "", inTheWay},
		{CauseRewrite, "", childText},
		{CauseRewrite, "SCHEDULE", "Background saving scheduled"},
	} {
		args := []string{"BGSAVE"}
		if c.option != "" {
			args = append(args, c.option)
		}
		got, _, host := whileRunning(t, c.running, args...)
		require.Equal(t, c.want, got, "%v %s", c.running, c.option)
		require.Equal(t, got == "Background saving scheduled", len(host.scheduled) == 1)
	}
	h := newHarness(t)
	host := h.host()
	for _, args := range [][]string{{"x"}, {"SCHEDULE", "x"}, {"CANCEL", "x"}} {
		require.Equal(t, replyError("ERR syntax error"), h.reply(append([]string{"BGSAVE"}, args...)...))
	}
	host.startErr = errors.New("no\nroom")
	require.Equal(t, replyError("ERR no room"), h.reply("BGSAVE"))
}

func TestBgSaveCancel(t *testing.T) {
	t.Parallel()
	for _, running := range []SnapshotCause{CauseSave, CauseBgSave} {
		got, _, host := whileRunning(t, running, "BGSAVE", "CANCEL")
		require.Equal(t, "Background saving cancelled", got)
		require.Equal(t, 1, host.cancels)
	}
	nothing := replyError("ERR Background saving is currently not in progress or scheduled")
	for _, running := range []SnapshotCause{CauseNone, CauseRewrite} {
		got, h, host := whileRunning(t, running, "BGSAVE", "cancel")
		require.Equal(t, nothing, got, "what runs for the log's sake goes on")
		host.stats.Snapshot.SaveScheduled = true
		require.Equal(t, "Scheduled background saving cancelled", h.reply("BGSAVE", "CANCEL"))
		require.Equal(t, 1, host.unscheduled)
		require.Zero(t, host.cancels)
	}
}

func TestBgRewriteAOF(t *testing.T) {
	t.Parallel()
	for running, want := range map[SnapshotCause]any{
		CauseNone:    "Background append only file rewriting started",
		CauseRewrite: replyError("ERR Background append only file rewriting already in progress"),
		CauseSave:    "Background append only file rewriting scheduled",
		CauseBgSave:  "Background append only file rewriting scheduled",
	} {
		got, _, host := whileRunning(t, running, "BGREWRITEAOF")
		require.Equal(t, want, got)
		require.Equal(t, got == "Background append only file rewriting scheduled", len(host.scheduled) == 1)
	}
	h := newHarness(t)
	h.host().startErr = errors.New("broken")
	require.Equal(t, replyError("ERR broken"), h.reply("BGREWRITEAOF"))
}

func TestSaveWaitsForItsSnapshot(t *testing.T) {
	t.Parallel()
	got, h, host := whileRunning(t, CauseNone, "SAVE")
	require.Nil(t, got)
	b := h.ctx.Block
	require.True(t, b.Firm)
	require.Zero(t, b.DeadlineMilli)
	host.overTo = 5
	require.False(t, b.Ready(), "the one before it ended")
	host.overTo = 6
	require.True(t, b.Ready())
	require.Equal(t, "OK", h.woken(WakeReady))
	host.overErr = errors.New("disk full")
	require.Equal(t, replyError("ERR disk full"), h.woken(WakeReady))

	got, h, _ = whileRunning(t, CauseBgSave, "SAVE")
	require.Equal(t, inTheWay, got)
	require.Nil(t, h.ctx.Block)

	h = newHarness(t)
	h.host().startErr = errors.New("broken")
	require.Equal(t, replyError("ERR broken"), h.reply("SAVE"))
	require.Nil(t, h.ctx.Block)
}

// Redis would run it beside a rewrite, and behind another SAVE.
func TestSaveBehindAnother(t *testing.T) {
	t.Parallel()
	for _, running := range []SnapshotCause{CauseRewrite, CauseSave} {
		got, h, host := whileRunning(t, running, "SAVE")
		require.Nil(t, got)
		require.Equal(t, []SnapshotCause{CauseSave}, host.scheduled)
		host.overTo = 5
		require.False(t, h.ctx.Block.Ready(), "the one that ran began before")
		host.overTo = 6
		require.True(t, h.ctx.Block.Ready())
	}
}

func TestLastSave(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.host().stats.Snapshot.LastSaveMilli = 1_600_000_000_999
	require.Equal(t, int64(1_600_000_000), h.reply("LASTSAVE"))
}
