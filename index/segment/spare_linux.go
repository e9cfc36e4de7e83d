package segment

import "golang.org/x/sys/unix"

// Spare keeps the memory of a process small that reads little of a mapped file
// here and there: it unmaps the pieces that were touched, each as large as the
// page cache holds it, which may be 2 MB. What is touched again is mapped again,
// for the price of a page fault. It is safe while others read.
func Spare(mapped []byte) {
	if len(mapped) == 0 {
		return
	}
	// Advice that is not taken costs memory and nothing else.
	_ = unix.Madvise(mapped, unix.MADV_DONTNEED)
}
