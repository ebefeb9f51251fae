package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"math/rand"
	"strings"

	"sigs.k8s.io/yaml"
)

// A text, and what kubectl reads in it.
type textCase struct {
	ID   string          `json:"id"`
	Text string          `json:"text"`
	JSON json.RawMessage `json:"json,omitempty"`
	// Refused is set where it is not YAML to kubectl.
	Refused bool `json:"refused,omitempty"`
}

// yamlTexts writes YAML that was folded, indented and quoted in ways that no formatter writes, with what kubectl reads in it.
func yamlTexts(args []string, out io.Writer) error {
	flags := flag.NewFlagSet("texts", flag.ContinueOnError)
	seed := flags.Int64("seed", 1, "what to draw from")
	count := flags.Int("count", 1000, "how many cases")
	if err := flags.Parse(args); err != nil {
		return err
	}
	draw := drawer{rand.New(rand.NewSource(*seed))}
	writer := bufio.NewWriter(out)
	defer writer.Flush()
	encoder := json.NewEncoder(writer)
	encoder.SetEscapeHTML(false)
	for number := 0; number < *count; number++ {
		text := draw.text()
		one := textCase{ID: fmt.Sprintf("text-%d-%d", *seed, number), Text: text}
		read, err := yaml.YAMLToJSON([]byte(text))
		if err != nil {
			one.Refused = true
		} else {
			one.JSON = read
		}
		if err := encoder.Encode(one); err != nil {
			return err
		}
	}
	return nil
}

func (d drawer) blank() string {
	return d.oneOf("", "", " ", "  ", "    ", "      ", "\t", "\t\t", " \t", "  \t", "\t  ").(string)
}

// within is text of several lines, as it may be folded in a scalar.
func (d drawer) within(words []any) string {
	text := d.oneOf(words...).(string)
	for lines := d.Intn(3); lines > 0; lines-- {
		text += d.oneOf("\n", "\n", "\n", "\n\n", "\n"+d.blank()+"\n", "\t\n", " \n", "\r\n").(string) + d.blank() + d.oneOf(words...).(string)
	}
	return text
}

func (d drawer) scalar() string {
	plain := []any{"one", "two words", "a:b", "x#y", "1", "it's"}
	quoted := []any{"one", "two words", "a: b", "# no comment", "- x", "1", "{a}", "---x"}
	switch d.Intn(6) {
	case 0:
		return d.within(plain)
	case 1, 2:
		text := d.within(append(quoted, "\\\n", "\\t", "it's"))
		if d.chance(15) {
			text += "\\\n" + d.blank() + "more"
		}
		return "\"" + text + "\""
	case 3:
		return "'" + d.within(append(quoted, "it''s", "\\")) + "'"
	case 4:
		return d.flow(2)
	}
	return d.oneOf(plain...).(string)
}

func (d drawer) gap() string {
	return d.oneOf(" ", " ", " ", "", "  ", "\t", " \t", "\n", "\n  ", "\n\t", "\n \t ", " # why\n").(string)
}

func (d drawer) flow(depth int) string {
	if depth == 0 {
		return d.oneOf("a", "\"b\"", "'c'", "1", "\"x\n y\"", "\"x\n\ty\"", "p\n q").(string)
	}
	parts := []string{}
	for at := d.Intn(3); at >= 0; at-- {
		parts = append(parts, d.flow(depth-1))
	}
	join := d.gap() + "," + d.gap()
	if d.chance(50) {
		return "[" + d.gap() + strings.Join(parts, join) + d.gap() + "]"
	}
	for at := range parts {
		parts[at] = fmt.Sprintf("k%d%s:%s%s", at, d.oneOf("", "", " ", "\t"), d.oneOf(" ", " ", "\t", "  ", "\n "), parts[at])
	}
	return "{" + d.gap() + strings.Join(parts, join) + d.gap() + "}"
}

func (d drawer) text() string {
	var text strings.Builder
	if d.chance(10) {
		text.WriteString(d.oneOf("---\n", "--- # start\n", "%YAML 1.1\n---\n", "# \tnote\n", "\n").(string))
	}
	text.WriteString("apiVersion:" + d.oneOf(" ", "  ", "\t", " \t").(string) + "v1" + d.oneOf("", " ", "\t", " # x", "\t# x").(string) + "\nkind: X\nmetadata:\n")
	for at := d.Intn(3); at >= 0; at-- {
		fmt.Fprintf(&text, "  key%d:%s%s%s\n", at, d.oneOf(" ", " ", "\t", "\n    ", "\n\t").(string), d.scalar(), d.oneOf("", "", " ", "\t", " # c").(string))
		if d.chance(10) {
			text.WriteString(d.oneOf("\n", "  \n", "\t\n", "  \t\n", "# c\n", "\t# c\n", "      # c\n").(string))
		}
	}
	if d.chance(40) {
		text.WriteString("  list:\n")
		dash := d.oneOf("  - ", "    - ", "  -\t", "  -  ", "  - \t").(string)
		for at := d.Intn(3); at >= 0; at-- {
			text.WriteString(dash + d.scalar() + "\n")
		}
	}
	if d.chance(30) {
		fmt.Fprintf(&text, "  block: %s\n%s\n", d.oneOf("|", "|-", ">", "|+", "|2", "| # c"), d.oneOf("    a\n    b", "    a\n\n      b", "     \n    a", "    \ta\n    b", "    a\n\t\n    b", "\n    a"))
	}
	if d.chance(20) {
		text.WriteString(d.oneOf("spec: {}\n", "spec: &a {x: 1}\nother: *a\n", "spec:\n- a\n- b\n", "? spec\n: 1\n", "\"spec\": [1,]\n", "spec: !!str 1\n", "spec:\n\n\n", "...\n").(string))
	}
	return text.String()
}
