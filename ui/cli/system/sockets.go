package system

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// What Linux says about sockets of this machine. Other systems have no such files, and
// nothing is known.

// socket is a line of /proc/net/tcp.
type socket struct {
	port      int // the local one
	listening bool
	uid       int
	inode     string
}

// sockets lists the TCP sockets of this machine.
func sockets() (list []socket) {
	for _, path := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		data, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(data)) {
			if s, ok := parseSocket(line); ok {
				list = append(list, s)
			}
		}
	}
	return list
}

// parseSocket reads a line such as
//
//	0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 12345 …
func parseSocket(line string) (s socket, ok bool) {
	fields := strings.Fields(line)
	if len(fields) < 10 {
		return s, false
	}
	_, port, _ := strings.Cut(fields[1], ":")
	n, err := strconv.ParseUint(port, 16, 16)
	if err != nil {
		return s, false
	}
	const listens = "0A"
	s = socket{port: int(n), listening: fields[3] == listens, inode: fields[9]}
	s.uid, err = strconv.Atoi(fields[7])
	return s, err == nil
}

// OfAnotherUser reports whether the socket with this port that is connected to one of ours
// belongs to another user. The administrator is none: relays for other machines run as it.
func OfAnotherUser(port int) bool {
	own := os.Getuid()
	for _, s := range sockets() {
		if s.port == port && !s.listening {
			return s.uid != own && s.uid != 0
		}
	}
	return false
}

// ListenerOf names the process that listens on a port; "" if that is not known.
func ListenerOf(port int) string {
	for _, s := range sockets() {
		if s.port != port || !s.listening {
			continue
		}
		name := fmt.Sprintf("a process of user %d", s.uid)
		links, _ := filepath.Glob("/proc/[0-9]*/fd/*") // the pattern is valid
		for _, link := range links {
			if target, err := os.Readlink(link); err != nil || target != "socket:["+s.inode+"]" {
				continue
			}
			pid := strings.Split(link, "/")[2]
			name = "process " + pid
			if command, err := os.ReadFile("/proc/" + pid + "/comm"); err == nil {
				name = strings.TrimSpace(string(command)) + ", " + name
			}
			break
		}
		return name
	}
	return ""
}
