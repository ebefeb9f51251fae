package main

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
)

//go:embed bad.txt
var bad string

// written turns the lines of bad.txt into cases.
func written(out io.Writer) error {
	objects, err := manifests()
	if err != nil {
		return err
	}
	byName := map[string][]byte{}
	for _, one := range objects {
		byName[one.name] = one.text
	}
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	for number, line := range strings.Split(bad, "\n") {
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		name, changes, _ := strings.Cut(line, " ")
		text, known := byName[name]
		if !known {
			return fmt.Errorf("line %d: no manifest %s", number+1, name)
		}
		var object any
		if err := json.Unmarshal(text, &object); err != nil {
			return err
		}
		for changes != "" {
			if changes, err = apply(object, changes); err != nil {
				return fmt.Errorf("line %d: %w", number+1, err)
			}
		}
		text, err := json.Marshal(object)
		if err != nil {
			return err
		}
		if err := encoder.Encode(testCase{ID: fmt.Sprintf("written-%s-%d", name, number+1), Object: text}); err != nil {
			return err
		}
	}
	return nil
}

// apply makes the first change of a line and returns what is left of it.
func apply(object any, changes string) (string, error) {
	end := strings.IndexAny(changes, " =")
	path, rest := changes, ""
	var value any
	isSet := false
	if end >= 0 {
		path, rest = changes[:end], changes[end+1:]
		if changes[end] == '=' {
			decoder := json.NewDecoder(strings.NewReader(rest))
			if err := decoder.Decode(&value); err != nil {
				return "", err
			}
			rest = strings.TrimPrefix(rest[decoder.InputOffset():], " ")
			isSet = true
		}
	}
	parts := strings.Split(path, "/")
	for index, part := range parts {
		part = strings.ReplaceAll(part, "~1", "/")
		last := index == len(parts)-1
		switch of := object.(type) {
		case map[string]any:
			switch {
			case last && isSet:
				of[part] = value
			case last:
				delete(of, part)
			default:
				if of[part] == nil {
					of[part] = map[string]any{}
				}
				object = of[part]
			}
		case []any:
			place, err := strconv.Atoi(part)
			if err != nil || place >= len(of) {
				return "", fmt.Errorf("%s: no item %s", path, part)
			}
			if last {
				of[place] = value
			} else {
				object = of[place]
			}
		default:
			return "", fmt.Errorf("%s: nothing can stand below %s", path, part)
		}
	}
	return rest, nil
}

// placed puts every relative into every object of every good manifest that can have it.
func placed(out io.Writer) error {
	objects, err := manifests()
	if err != nil {
		return err
	}
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	seen := map[string]bool{}
	for _, one := range objects {
		if seen[one.name] {
			continue
		}
		seen[one.name] = true
		var object map[string]any
		if err := json.Unmarshal(one.text, &object); err != nil {
			return err
		}
		var all []place
		places(object, &all)
		for number, at := range all {
			inner, isObject := at.get().(map[string]any)
			if !isObject {
				continue
			}
			for index, relative := range relatives {
				var value any
				if err := json.Unmarshal([]byte(relative.value), &value); err != nil {
					return err
				}
				before, had := inner[relative.name]
				inner[relative.name] = value
				text, err := json.Marshal(object)
				if err != nil {
					return err
				}
				if had {
					inner[relative.name] = before
				} else {
					delete(inner, relative.name)
				}
				if unknownFields(text) != "" {
					continue
				}
				id := fmt.Sprintf("placed-%s-%d-%d", one.name, number, index)
				if err := encoder.Encode(testCase{ID: id, Object: text}); err != nil {
					return err
				}
			}
		}
	}
	return nil
}
