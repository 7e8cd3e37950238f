//go:build amd64 && !noasm

#include "go_asm.h"
#include "textflag.h"

// Go's assembler has no names for tile instructions: these spell those used below. A tile in memory is
// sixteen rows of 64 bytes, one after the other; SI holds 64.
#define TILELOAD(tile, base, bytes) \
	BYTE $0xC4; BYTE $0xE2; BYTE $0x7B; BYTE $0x4B; BYTE $(0x84|(tile)<<3); BYTE $(0x30|(base)); LONG $(bytes)
#define TILESTORE(tile, base, bytes) \
	BYTE $0xC4; BYTE $0xE2; BYTE $0x7A; BYTE $0x4B; BYTE $(0x84|(tile)<<3); BYTE $(0x30|(base)); LONG $(bytes)
#define TILEMULTIPLY(sum, a, b) \
	BYTE $0xC4; BYTE $0xE2; BYTE $(0x7A^(b)<<3); BYTE $0x5C; BYTE $(0xC0|(sum)<<3|(a))
#define TILECONFIGURE_R8 \
	BYTE $0xC4; BYTE $0xC2; BYTE $0x78; BYTE $0x49; BYTE $0x00
#define TILERELEASE \
	BYTE $0xC4; BYTE $0xE2; BYTE $0x78; BYTE $0x49; BYTE $0xC0

// What base stands for.
#define rAX 0
#define rCX 1
#define rDX 2
#define rBX 3

// Eight tiles of 16 rows of 64 bytes, under palette 1.
DATA tiles<>+0(SB)/8, $1
DATA tiles<>+8(SB)/8, $0
DATA tiles<>+16(SB)/8, $0x0040004000400040
DATA tiles<>+24(SB)/8, $0x0040004000400040
DATA tiles<>+32(SB)/8, $0
DATA tiles<>+40(SB)/8, $0
DATA tiles<>+48(SB)/8, $0x1010101010101010
DATA tiles<>+56(SB)/8, $0
GLOBL tiles<>(SB), RODATA|NOPTR, $64

// func screenAMX(j *screenJob)
//
// Four groups at a time: their slots as tiles, scores, the least of them.
TEXT ·screenAMX(SB), NOSPLIT, $96-8
	LEAQ tiles<>(SB), R8
	TILECONFIGURE_R8
	MOVQ j+0(FP), DI
	MOVQ $0, done-8(SP)

some:
	MOVQ screenJob_groups(DI), R12
	SUBQ done-8(SP), R12
	JLE  end
	CMPQ R12, $4
	JLE  few
	MOVQ $4, R12

few:
	MOVQ R12, groups-16(SP)

	// splitSlots of them
	MOVQ screenJob_slots(DI), AX
	MOVQ AX, 0(SP)
	MOVQ screenJob_limit(DI), AX
	MOVQ AX, 8(SP)
	MOVQ done-8(SP), BX
	MOVQ screenJob_from(DI), AX
	LEAQ (AX)(BX*8), AX
	MOVQ AX, 16(SP)
	MOVQ screenJob_d(DI), AX
	MOVQ AX, 24(SP)
	MOVQ screenJob_depth(DI), AX
	SHLQ $10, AX
	MOVQ AX, 32(SP)
	MOVQ R12, 40(SP)
	MOVQ screenJob_slope(DI), AX   // and offset behind it
	MOVQ AX, 48(SP)
	CALL ·splitSlotsAVX512(SB)

	MOVQ j+0(FP), DI
	MOVQ screenJob_scores(DI), AX
	MOVQ screenJob_slots(DI), DX
	MOVQ screenJob_depth(DI), R10
	MOVQ groups-16(SP), R12
	MOVQ $64, SI

group:
	// The slots four groups on are fetched meanwhile: sixteen of d numbers, d lines of the cache.
	MOVQ done-8(SP), BX
	ADDQ groups-16(SP), BX
	SUBQ R12, BX
	MOVQ screenJob_from(DI), CX
	MOVQ 32(CX)(BX*8), BX
	MOVQ screenJob_d(DI), CX

ahead:
	PREFETCHT1 (BX)
	ADDQ $64, BX
	DECQ CX
	JNZ  ahead
	MOVQ screenJob_half(DI), BX
	MOVQ screenJob_words(DI), CX
	MOVQ screenJob_blocks(DI), R11
	MOVQ DX, R13
	SUBQ $4, R11
	JLT  ones

fours:
	MOVQ R13, DX
	MOVQ R10, R9
	TILELOAD(0, rBX, 0)
	TILELOAD(1, rBX, 1024)
	TILELOAD(2, rBX, 2048)
	TILELOAD(3, rBX, 3072)

fourDeep:
	TILELOAD(7, rDX, 0)
	TILELOAD(4, rCX, 0)
	TILEMULTIPLY(0, 4, 7)
	TILELOAD(5, rCX, 1024)
	TILEMULTIPLY(1, 5, 7)
	TILELOAD(6, rCX, 2048)
	TILEMULTIPLY(2, 6, 7)
	TILELOAD(4, rCX, 3072)
	TILEMULTIPLY(3, 4, 7)
	ADDQ $1024, DX
	ADDQ $4096, CX
	DECQ R9
	JNZ  fourDeep
	TILESTORE(0, rAX, 0)
	TILESTORE(1, rAX, 1024)
	TILESTORE(2, rAX, 2048)
	TILESTORE(3, rAX, 3072)
	ADDQ $4096, AX
	ADDQ $4096, BX
	SUBQ $4, R11
	JGE  fours

ones:
	ADDQ $4, R11
	JZ   grouped

one:
	MOVQ R13, DX
	MOVQ R10, R9
	TILELOAD(0, rBX, 0)

oneDeep:
	TILELOAD(7, rDX, 0)
	TILELOAD(4, rCX, 0)
	TILEMULTIPLY(0, 4, 7)
	ADDQ $1024, DX
	ADDQ $1024, CX
	DECQ R9
	JNZ  oneDeep
	TILESTORE(0, rAX, 0)
	ADDQ $1024, AX
	ADDQ $1024, BX
	DECQ R11
	JNZ  one

grouped:
	DECQ R12
	JNZ  group

	// leastTwo of them
	MOVQ done-8(SP), BX
	MOVQ screenJob_codes(DI), AX
	MOVQ BX, CX
	SHLQ $6, CX
	ADDQ CX, AX
	MOVQ AX, 0(SP)
	MOVQ screenJob_unsure(DI), AX
	LEAQ (AX)(BX*2), AX
	MOVQ AX, 8(SP)
	MOVQ screenJob_scores(DI), AX
	MOVQ AX, 16(SP)
	MOVQ screenJob_limit(DI), AX
	MOVQ AX, 24(SP)
	MOVQ screenJob_index(DI), AX
	MOVQ AX, 32(SP)
	MOVQ screenJob_blocks(DI), AX
	SHLQ $4, AX
	MOVQ AX, 40(SP)
	MOVQ groups-16(SP), AX
	MOVQ AX, 48(SP)
	ADDQ AX, BX
	MOVQ BX, done-8(SP)
	MOVL screenJob_mask(DI), AX
	MOVL AX, 56(SP)
	CALL ·leastTwoAVX512(SB)
	MOVQ j+0(FP), DI
	JMP  some

end:
	TILERELEASE
	RET
