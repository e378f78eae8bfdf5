// Package slot maps a key to its hash slot, 0..16383, as Redis Cluster does.
//
// It promises the exact numbering of Redis Cluster, so that clients which
// route by slot agree with the server. It allocates nothing and never looks
// at anything but the key's bytes.
package slot

import "bytes"

// Count is the number of hash slots.
const Count = 16384

// Of returns the slot of key: CRC16 (XMODEM) of the hash tag, or of the whole
// key when it has none.
func Of(key []byte) uint16 { return crc16(tag(key)) & (Count - 1) }

// tag is what lies between the first '{' and the first '}' after it. When
// there is no such pair, or nothing between, the whole key is hashed.
func tag(key []byte) []byte {
	open := bytes.IndexByte(key, '{')
	if open < 0 {
		return key
	}
	rest := key[open+1:]
	if n := bytes.IndexByte(rest, '}'); n > 0 {
		return rest[:n]
	}
	return key
}
