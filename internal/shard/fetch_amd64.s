//go:build !purego

#include "textflag.h"

// func fetch(at []unsafe.Pointer, count int)
TEXT ·fetch(SB), NOSPLIT, $0-32
	MOVQ at_base+0(FP), SI
	MOVQ at_len+8(FP), CX
	MOVQ count+24(FP), DX
	TESTQ CX, CX
	JZ   done

next:
	MOVQ (SI), AX
	MOVQ DX, BX

line:
	PREFETCHT0 (AX)
	ADDQ $64, AX
	DECQ BX
	JNZ  line
	ADDQ $8, SI
	DECQ CX
	JNZ  next

done:
	RET
