package session

// View is an entry laid out for reading: its pieces in their original order, whereas
// Parts are pieces for searching. It is valid as long as its entry.
type View struct {
	Blocks       []Block
	TokensBefore int64  // compaction: tokens of the context before it, 0 if unknown
	Diff         []byte // result: what the tool recorded of its edits, nil if it recorded no diff
	Rejected     bool   // result: the person did not let its call run
}

// Block is one piece of a View. At most one of Call, Image and Shell is set;
// otherwise the block is text.
type Block struct {
	Kind  Kind
	Text  []byte // decoded UTF-8; the output of a Shell
	Call  *Call
	Image *Image
	Shell *Shell
}

// Call is a tool call.
type Call struct {
	ID        string
	Tool      string
	Deed      Deed       // what it does
	Arguments []Argument // in file order
	Raw       []byte     // the arguments as JSON, nil if there are none
	Command   []byte     // the shell command among the arguments, nil if it runs none
	Nested    bool       // another tool made it
	Failed    bool       // known only for nested calls
	Edits     []Edit     // what it changes in files, nil if it changes none or says so in another form
	Diff      []byte     // of its edits, as the tool recorded it in its result or was given it; nil if there is none

	Subagents []Subagent // that it started; who shows the conversation sets it
}

// Subagent is a session that a call started.
type Subagent struct {
	Name     string // as commands accept it
	Title    string
	Path, ID string
}

// Edit is one change of a file.
type Edit struct {
	Path     string
	Old, New []byte // decoded text: Old is replaced by New
	Whole    bool   // New is the whole file
	All      bool   // every Old is replaced, not only one
}

// PathNames are the names of arguments that hold the path a tool works on.
var PathNames = []string{"path", "file_path", "filePath", "filename", "file", "dir", "directory"}

// Path returns the path that the call works on, "" if it names none.
func (c *Call) Path() string { return c.Argument(PathNames...) }

// Argument is one argument of a call.
type Argument struct {
	Name  string
	Value []byte // decoded text of a string, otherwise JSON
	Text  bool   // it is a string
	Edits bool   // Edits or Diff of the call has it
}

// Argument returns the text of the first of the named arguments that is a string.
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
	Base64   []byte // the image as it is in the file
}

// Shell is a command that the user ran.
type Shell struct {
	Command   string
	ExitCode  int64
	HasExit   bool
	Cancelled bool
	Output    string // file with the full output, "" if there is none
}
