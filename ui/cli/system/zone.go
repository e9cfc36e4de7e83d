package system

import (
	"os"
	"strings"
	"time"
)

// UnnamedZone is the name of the local time zone in package time.
const UnnamedZone = "Local"

// LocalZone returns the local time zone, with its IANA name if that can be found.
func LocalZone() *time.Location {
	if time.Local.String() != UnnamedZone {
		return time.Local
	}
	// On Unix, /etc/localtime is a link to the file of the time zone.
	if target, err := os.Readlink("/etc/localtime"); err == nil {
		if _, name, ok := strings.Cut(target, "zoneinfo/"); ok {
			if named, err := time.LoadLocation(name); err == nil {
				return named
			}
		}
	}
	return time.Local
}
