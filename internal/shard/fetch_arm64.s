//go:build !purego

#include "textflag.h"

// func fetch(at []unsafe.Pointer, count int)
TEXT ·fetch(SB), NOSPLIT, $0-32
	MOVD at_base+0(FP), R0
	MOVD at_len+8(FP), R1
	MOVD count+24(FP), R2
	CBZ  R1, done

next:
	MOVD.P 8(R0), R3
	MOVD R2, R4

line:
	PRFM (R3), PLDL1KEEP
	ADD  $64, R3
	SUBS $1, R4
	BNE  line
	SUBS $1, R1
	BNE  next

done:
	RET
