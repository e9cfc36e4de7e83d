package ssh

import (
	"context"

	"pigrep/internal/session"
	"pigrep/remote"
)

// SessionRequest asks for the session files with these names; see remote.Question.
type SessionRequest struct {
	Names []string
	Brief bool // summaries are enough
}

// Piece is a piece of a session file, masked on its host: first its summary, then its lines,
// and an empty piece at its end.
type Piece struct {
	Summary *session.Summary `json:",omitempty"`
	Lines   string           `json:",omitempty"`
}

// ResumeRequest asks how a session is resumed.
type ResumeRequest struct {
	Words []string
	Last  bool
	Fork  bool
	In    string
}

// ResumeAnswer is the command that resumes a session on its host.
type ResumeAnswer struct {
	Dir      string
	Argv     []string
	Warnings []string
	JSON     []byte // of the answer there
}

// Name implements remote.Source.
func (c *Client) Name() string { return c.Host.Name }

func (c *Client) Session(ctx context.Context, req SessionRequest, visit func(*Piece) error) (*remote.Coverage, error) {
	return parts[Piece, remote.Coverage](ctx, c, "session", req, visit)
}

func (c *Client) Resume(ctx context.Context, req ResumeRequest) (*ResumeAnswer, error) {
	return answer[ResumeAnswer](ctx, c, "resume", req)
}
