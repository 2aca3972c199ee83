// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
)

// An operation is a line of a history; README.md one folder up says what each field means.
type operation struct {
	Op   string `json:"op"`
	Name string `json:"name"`
	Hold string `json:"hold"`

	Call   int64  `json:"call"`
	Return *int64 `json:"return"` // nil: it has no answer

	Owner    string  `json:"owner"`
	Shared   bool    `json:"shared"`
	Admitted *int64  `json:"admitted"`
	Tokens   []int64 `json:"tokens"`
	Permits  int64   `json:"permits"`
	Leases   bool    `json:"leases"`

	Token int64 `json:"token"`
	Taken bool  `json:"taken"`
	Order int64 `json:"order"`

	Why        string `json:"why"`
	KeptUntil  *int64 `json:"kept_until"`
	Keeps      bool   `json:"keeps"`
	TokensAnew bool   `json:"tokens_anew"`
}

// A history is one run: all its operations, in any order.
type history []operation

func readFile(path string) (history, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return read(file)
}

func read(from io.Reader) (history, error) {
	var all history
	lines := bufio.NewScanner(from)
	lines.Buffer(nil, 1<<20)
	for number := 1; lines.Scan(); number++ {
		one, err := parse(lines.Bytes())
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", number, err)
		}
		all = append(all, one)
	}
	return all, lines.Err()
}

func parse(line []byte) (operation, error) {
	var one operation
	decoder := json.NewDecoder(bytes.NewReader(line))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&one); err != nil {
		return one, err
	}
	return one, one.check()
}

// What is wrong with it by itself.
func (o operation) check() error {
	var mustEnd, mustHaveHold bool
	switch o.Op {
	case "acquire", "release":
		mustEnd, mustHaveHold = true, true
	case "end":
		mustHaveHold = true
	case "set", "read", "lose":
		mustEnd = true
	case "write":
	default:
		return fmt.Errorf("unknown operation %q", o.Op)
	}
	switch {
	case mustEnd && o.Return == nil:
		return fmt.Errorf("%s without a return", o.Op)
	case o.Return != nil && *o.Return < o.Call:
		return fmt.Errorf("%s returns before it is called", o.Op)
	case mustHaveHold && o.Hold == "":
		return fmt.Errorf("%s without a hold", o.Op)
	case o.Name == "" && o.Op != "lose":
		return fmt.Errorf("%s without a name", o.Op)
	}
	return nil
}

func (o operation) String() string {
	text := o.Op + " " + o.Name
	if o.Hold != "" {
		text += " by " + o.Hold
	}
	if o.Shared {
		text += " shared"
	}
	if len(o.Tokens) != 0 {
		text += fmt.Sprintf(" tokens %v", o.Tokens)
	}
	if o.Op == "write" {
		text += fmt.Sprintf(" token %d", o.Token)
		if o.Return != nil {
			text += map[bool]string{true: " taken", false: " refused"}[o.Taken]
		}
	}
	if o.Order != 0 {
		text += fmt.Sprintf(" order %d", o.Order)
	}
	if o.Permits != 0 {
		text += fmt.Sprintf(" permits %d", o.Permits)
	}
	if o.Why != "" {
		text += ", " + o.Why
	}
	if o.Return == nil {
		return fmt.Sprintf("[%d, ) %s", o.Call, text)
	}
	return fmt.Sprintf("[%d, %d] %s", o.Call, *o.Return, text)
}
