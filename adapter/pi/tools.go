package pi

import (
	_ "embed"
	"strings"
	"sync"

	"pigrep/adapter"
)

//go:embed tools.txt
var toolsText string

var tools = sync.OnceValue(func() map[string]adapter.Tool { return adapter.Tools(toolsText) })

// toolOf returns what is known of a tool, whose name may be in capitals.
func toolOf(name string) adapter.Tool { return tools()[strings.ToLower(name)] }
