package system

import (
	"testing"
	"testing/fstest"
)

// The lowest limit of a control group and its parents counts, in both versions. Files
// that are absent, empty or odd limit nothing.
func TestCgroupMemory(t *testing.T) {
	t.Parallel()
	const v2, v1 = "sys/fs/cgroup/", "sys/fs/cgroup/memory/"
	for _, c := range []struct {
		name  string
		files map[string]string
		want  int64
	}{
		{"no control groups", nil, 0},
		{"no limit", map[string]string{"proc/self/cgroup": "0::/a/b\n", v2 + "a/b/memory.max": "max\n", v2 + "a/b/memory.high": "max\n"}, 0},
		{"its own", map[string]string{"proc/self/cgroup": "0::/a/b\n", v2 + "a/b/memory.max": "1000\n"}, 1000},
		{"soft", map[string]string{"proc/self/cgroup": "0::/a\n", v2 + "a/memory.max": "1000\n", v2 + "a/memory.high": "900\n"}, 900},
		{"of a parent", map[string]string{"proc/self/cgroup": "0::/a/b/c\n", v2 + "a/memory.max": "700\n", v2 + "a/b/c/memory.max": "800\n"}, 700},
		{"of a container", map[string]string{"proc/self/cgroup": "0::/../other\n", v2 + "memory.max": "600\n"}, 600},
		{"version 1", map[string]string{"proc/self/cgroup": "5:cpu,memory:/d/e\n1:name=x:/\n", v1 + "d/memory.limit_in_bytes": "500\n"}, 500},
		{"version 1 without a limit", map[string]string{"proc/self/cgroup": "5:memory:/\n", v1 + "memory.limit_in_bytes": "9223372036854771712\n"}, 0},
		{"both versions", map[string]string{"proc/self/cgroup": "5:memory:/\n0::/\n", v1 + "memory.limit_in_bytes": "400", v2 + "memory.max": "300"}, 300},
		{"odd", map[string]string{"proc/self/cgroup": "nothing\n\n0::\n7\n:::\n0::/x:y\n", v2 + "memory.max": "-1", v2 + "x:y/memory.max": "200 kB", v2 + "x:y/memory.high": ""}, 0},
	} {
		root := fstest.MapFS{}
		for name, text := range c.files {
			root[name] = &fstest.MapFile{Data: []byte(text)}
		}
		if got := cgroupMemory(root); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
}

// The limit that leaves less counts, not the lower one.
func TestLowerMemory(t *testing.T) {
	t.Parallel()
	none, wide, tight := Memory{}, Memory{Limit: 500, Left: 400}, Memory{Limit: 1000, Left: 300}
	for _, c := range [][3]Memory{{none, none, none}, {none, wide, wide}, {wide, none, wide}, {wide, tight, tight}, {tight, wide, tight}} {
		if got := c[0].lower(c[1]); got != c[2] {
			t.Errorf("the lower of %+v and %+v is %+v", c[0], c[1], got)
		}
	}
}
