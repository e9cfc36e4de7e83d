package html

import "html/template"

// code is a text in the language, or of the file with the name.
func (x *writer) code(language string, text []byte) template.HTML {
	return template.HTML(template.HTMLEscapeString(visible(text)))
}
