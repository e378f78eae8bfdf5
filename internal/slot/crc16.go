package slot

// polynomial of CRC16 XMODEM: x^16 + x^12 + x^5 + 1, most significant bit
// first, initial value 0, no final xor.
const polynomial = 0x1021

// lanes[k][b] is the CRC of byte b followed by k zero bytes. With eight of
// them eight bytes cost eight independent loads instead of a chain of eight
// dependent ones: a third of the time of one table for a 14-byte key.
var lanes = makeLanes()

func makeLanes() *[8][256]uint16 {
	t := new([8][256]uint16)
	for b := range 256 {
		crc := uint16(b) << 8
		for range 8 {
			if crc&0x8000 != 0 {
				crc = crc<<1 ^ polynomial
			} else {
				crc <<= 1
			}
		}
		t[0][b] = crc
	}
	for k := 1; k < len(t); k++ {
		for b := range 256 {
			shorter := t[k-1][b]
			t[k][b] = shorter<<8 ^ t[0][shorter>>8]
		}
	}
	return t
}

func crc16(b []byte) uint16 {
	t := lanes
	crc := uint16(0)
	for len(b) >= 8 {
		crc = t[7][b[0]^byte(crc>>8)] ^ t[6][b[1]^byte(crc)] ^
			t[5][b[2]] ^ t[4][b[3]] ^ t[3][b[4]] ^ t[2][b[5]] ^ t[1][b[6]] ^ t[0][b[7]]
		b = b[8:]
	}
	if len(b) >= 4 {
		crc = t[3][b[0]^byte(crc>>8)] ^ t[2][b[1]^byte(crc)] ^ t[1][b[2]] ^ t[0][b[3]]
		b = b[4:]
	}
	for _, c := range b {
		crc = crc<<8 ^ t[0][c^byte(crc>>8)]
	}
	return crc
}
