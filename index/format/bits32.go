//go:build 386 || arm || mips || mipsle

package format

// An index is mapped into memory as a whole, and offsets into it and into session files
// are ints, so pigrep is for 64-bit systems. The compiler prints this name.
var _ = pigrep_needs_a_64_bit_system_because_it_maps_the_index_into_memory
