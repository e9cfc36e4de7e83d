package segment

import "golang.org/x/sys/unix"

// dropPages unmaps the pages of a mapped file; they stay in the page cache.
func dropPages(mapped []byte) {
	if len(mapped) == 0 {
		return
	}
	// If the advice is not taken, that costs memory and nothing else.
	_ = unix.Madvise(mapped, unix.MADV_DONTNEED)
}

// isSmall reports whether the process never had spareMemory resident. A child process
// counts the memory that its parent had when it was started.
func isSmall() bool {
	var usage unix.Rusage
	return unix.Getrusage(unix.RUSAGE_SELF, &usage) == nil && usage.Maxrss<<10 < spareMemory
}
