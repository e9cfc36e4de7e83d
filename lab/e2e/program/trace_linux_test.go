//go:build linux && amd64

package program

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"

	"pigrep/lab/testkit"
)

// access is one system call that names a file.
type access struct {
	call  string
	path  string // as the process gave it, made absolute
	flags int    // of open
}

// The system calls that name a file, with the argument that holds the name and,
// for calls that take one, the argument with the directory it is relative to.
var fileCalls = map[uint64]struct {
	name      string
	path, dir int // numbers of arguments; dir is -1 when there is none
	flags     int
}{
	syscall.SYS_OPEN:              {"open", 0, -1, 1},
	syscall.SYS_OPENAT:            {"openat", 1, 0, 2},
	437:                           {"openat2", 1, 0, -1},
	syscall.SYS_CREAT:             {"creat", 0, -1, -1},
	syscall.SYS_STAT:              {"stat", 0, -1, -1},
	syscall.SYS_LSTAT:             {"lstat", 0, -1, -1},
	syscall.SYS_NEWFSTATAT:        {"newfstatat", 1, 0, -1},
	332:                           {"statx", 1, 0, -1},
	syscall.SYS_ACCESS:            {"access", 0, -1, -1},
	syscall.SYS_FACCESSAT:         {"faccessat", 1, 0, -1},
	439:                           {"faccessat2", 1, 0, -1},
	syscall.SYS_READLINK:          {"readlink", 0, -1, -1},
	syscall.SYS_READLINKAT:        {"readlinkat", 1, 0, -1},
	syscall.SYS_GETXATTR:          {"getxattr", 0, -1, -1},
	syscall.SYS_LGETXATTR:         {"lgetxattr", 0, -1, -1},
	syscall.SYS_INOTIFY_ADD_WATCH: {"inotify_add_watch", 1, -1, -1},
	syscall.SYS_TRUNCATE:          {"truncate", 0, -1, -1},
	syscall.SYS_UNLINK:            {"unlink", 0, -1, -1},
	syscall.SYS_UNLINKAT:          {"unlinkat", 1, 0, -1},
	syscall.SYS_RENAME:            {"rename", 0, -1, -1},
	syscall.SYS_RENAMEAT:          {"renameat", 1, 0, -1},
	316:                           {"renameat2", 1, 0, -1},
	syscall.SYS_LINK:              {"link", 0, -1, -1},
	syscall.SYS_LINKAT:            {"linkat", 1, 0, -1},
	syscall.SYS_MKDIR:             {"mkdir", 0, -1, -1},
	syscall.SYS_MKDIRAT:           {"mkdirat", 1, 0, -1},
	syscall.SYS_SYMLINK:           {"symlink", 1, -1, -1},
	syscall.SYS_SYMLINKAT:         {"symlinkat", 2, 1, -1},
	syscall.SYS_MKNODAT:           {"mknodat", 1, 0, -1},
	syscall.SYS_CHMOD:             {"chmod", 0, -1, -1},
	syscall.SYS_FCHMODAT:          {"fchmodat", 1, 0, -1},
	syscall.SYS_CHOWN:             {"chown", 0, -1, -1},
	syscall.SYS_FCHOWNAT:          {"fchownat", 1, 0, -1},
	syscall.SYS_UTIME:             {"utime", 0, -1, -1},
	syscall.SYS_UTIMENSAT:         {"utimensat", 1, 0, -1},
}

const traceExitKill = 0x100000 // PTRACE_O_EXITKILL

// trace runs a command to its end and returns every file that it named to the
// system, and its exit code. The streams of cmd must be files or nil.
func trace(t *testing.T, cmd *exec.Cmd) ([]access, int) {
	t.Helper()
	runtime.LockOSThread() // the thread that starts the process is the one that may trace it
	defer runtime.UnlockOSThread()
	cmd.SysProcAttr = &syscall.SysProcAttr{Ptrace: true}
	if err := cmd.Start(); err != nil {
		testkit.Missing(t, "processes cannot be traced here: "+err.Error())
	}
	pid := cmd.Process.Pid
	var status syscall.WaitStatus
	if _, err := syscall.Wait4(pid, &status, 0, nil); err != nil || !status.Stopped() {
		t.Fatalf("wait for the traced process: %v, %v", status, err)
	}
	const options = syscall.PTRACE_O_TRACESYSGOOD | syscall.PTRACE_O_TRACECLONE | syscall.PTRACE_O_TRACEFORK | syscall.PTRACE_O_TRACEVFORK | traceExitKill
	if err := syscall.PtraceSetOptions(pid, options); err != nil {
		t.Fatalf("ptrace: %v", err)
	}
	var seen []access
	inside := map[int]bool{} // threads between the entry and the end of a call
	started := map[int]bool{pid: true}
	signal := 0
	for next := pid; ; {
		syscall.PtraceSyscall(next, signal) // fails when the thread is gone, which Wait4 says too
		signal = 0
		id, err := syscall.Wait4(-1, &status, syscall.WALL, nil)
		if err == syscall.EINTR {
			continue
		}
		if err != nil {
			t.Fatalf("wait for the traced process: %v", err)
		}
		next = id
		switch {
		case status.Exited() || status.Signaled():
			if id == pid {
				cmd.Process.Release()
				return seen, status.ExitStatus()
			}
		case status.StopSignal() == syscall.SIGTRAP|0x80:
			if inside[id] = !inside[id]; inside[id] {
				if a, ok := readCall(id); ok {
					seen = append(seen, a)
				}
			}
		case status.StopSignal() == syscall.SIGTRAP: // a thread was started
		case status.StopSignal() == syscall.SIGSTOP && !started[id]:
			started[id] = true
		default:
			signal = int(status.StopSignal())
		}
	}
}

// readCall reads the call that a stopped thread is about to make.
func readCall(id int) (access, bool) {
	var regs syscall.PtraceRegs
	if syscall.PtraceGetRegs(id, &regs) != nil {
		return access{}, false
	}
	c, ok := fileCalls[regs.Orig_rax]
	if !ok {
		return access{}, false
	}
	args := []uint64{regs.Rdi, regs.Rsi, regs.Rdx, regs.R10}
	path, ok := readString(id, uintptr(args[c.path]))
	if !ok {
		return access{}, false
	}
	a := access{call: c.name, path: path}
	if c.flags >= 0 {
		a.flags = int(args[c.flags])
	}
	if !filepath.IsAbs(path) {
		dir := "/proc/" + itoa(id) + "/cwd"
		if c.dir >= 0 && int32(args[c.dir]) >= 0 {
			dir = "/proc/" + itoa(id) + "/fd/" + itoa(int(int32(args[c.dir])))
		}
		if base, err := os.Readlink(dir); err == nil {
			a.path = filepath.Join(base, path)
		}
	}
	return a, true
}

func readString(id int, at uintptr) (string, bool) {
	var s []byte
	for len(s) < 4096 {
		var word [8]byte
		n, err := syscall.PtracePeekData(id, at+uintptr(len(s)), word[:])
		if err != nil {
			return "", false
		}
		for _, b := range word[:n] {
			if b == 0 {
				return string(s), true
			}
			s = append(s, b)
		}
	}
	return "", false
}

func itoa(n int) string {
	if n < 10 {
		return string(rune('0' + n))
	}
	return itoa(n/10) + itoa(n%10)
}
