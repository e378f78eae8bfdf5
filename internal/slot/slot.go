// Package slot maps a key to its hash slot, 0..16383, as Redis Cluster does.
package slot

// Count is the number of hash slots.
const Count = 16384

// Of returns the slot of key: CRC16 (XMODEM) of the hash tag, or of the whole
// key when it has none.
func Of(key []byte) uint16 { panic("unwritten") }
