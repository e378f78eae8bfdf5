package wal

// Repair makes a log that Open refuses readable again by cutting it at the
// first bad place. Everything it takes away is first copied into saveDir. It
// returns what the log was left with and what was lost. A log that Open
// accepts is left alone.
func Repair(o Options, saveDir string) (RepairReport, error) { panic("unwritten") }

// RepairReport tells what Repair did.
type RepairReport struct {
	Damage      *DamageError // what was wrong; nil when nothing was
	LastLSN     LSN          // the last record that is left
	LostRecords int64        // records behind it that could still be read; they are lost with the cut
	CutBytes    int64
	Saved       []string // files in saveDir
}
