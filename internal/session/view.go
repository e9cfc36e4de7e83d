package session

// View is an entry as a person reads it: pieces in the order in which they
// stand, where Parts are pieces for searching. It is valid as long as the entry
// it was made with.
type View struct {
	Blocks       []Block
	TokensBefore int64 // compaction: tokens of the context before it, 0 when unknown
}

// Block is one piece of a View. Of Call, Image and Shell at most one is set;
// otherwise it is text.
type Block struct {
	Kind  Kind
	Text  []byte // decoded UTF-8; of a Shell its output
	Call  *Call
	Image *Image
	Shell *Shell
}

// Call is a call of a tool.
type Call struct {
	ID        string
	Tool      string
	Arguments []Argument // in file order
	Raw       []byte     // the arguments as JSON, nil when there are none
	Command   []byte     // the shell command among the arguments, nil when it runs none
	Nested    bool       // another tool made it
	Failed    bool       // known of nested calls only
}

// Argument is one argument of a call.
type Argument struct {
	Name  string
	Value []byte // decoded text of a string, otherwise JSON
	Text  bool   // it is a string
}

// Argument returns the text of the first argument that has one of these names
// and is a string.
func (c *Call) Argument(names ...string) string {
	for _, name := range names {
		for _, a := range c.Arguments {
			if a.Name == name && a.Text {
				return string(a.Value)
			}
		}
	}
	return ""
}

// Image is an image in a message.
type Image struct {
	MimeType string
	Size     int    // bytes of the image
	Base64   []byte // the image itself, as it stands in the file
}

// Shell is a command that the person ran.
type Shell struct {
	Command   string
	ExitCode  int64
	HasExit   bool
	Cancelled bool
	Truncated bool   // the output is not whole
	Output    string // file with the whole output, "" when there is none
}
