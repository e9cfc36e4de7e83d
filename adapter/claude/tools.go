package claude

import (
	_ "embed"
	"sync"

	"pigrep/adapter"
)

//go:embed tools.txt
var toolsText string

var tools = sync.OnceValue(func() map[string]adapter.Tool { return adapter.Tools(toolsText) })
