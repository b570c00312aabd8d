// The load of the data-plane bench: one measured run against one address. Prints one line of JSON.
//
//	load ADDRESS requests CONNECTIONS SECONDS SMALL|BODY_BYTES   closed loop
//	load ADDRESS streams STREAMS RATE SECONDS                    SSE at a fixed rate
//	load ADDRESS mixed RATE SECONDS BODY_BYTES                   small requests at a fixed rate beside one uploader
//	load ADDRESS hold STREAMS                                    opens them, says so, and waits for the end of its input
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

type result struct {
	Done   int     `json:"done"`
	Bytes  int     `json:"bytes"`
	Failed int     `json:"failed"`
	Secs   float64 `json:"secs"`
	P50    float64 `json:"p50Us"`
	P99    float64 `json:"p99Us"`
	Fault  string  `json:"fault,omitempty"`
}

const patience = 20 * time.Second

var (
	address  string
	failures atomic.Int64
	fault    atomic.Value
)

func main() {
	address = os.Args[1]
	numbers := make([]int, 4)
	for i, argument := range os.Args[3:] {
		numbers[i], _ = strconv.Atoi(argument)
	}
	var out result
	switch os.Args[2] {
	case "requests":
		out = requests(numbers[0], seconds(numbers[1]), numbers[2])
	case "streams":
		out = streams(numbers[0], numbers[1], numbers[2])
	case "mixed":
		out = mixed(numbers[0], seconds(numbers[1]), numbers[2])
	case "hold":
		hold(numbers[0])
		return
	}
	out.Failed = int(failures.Load())
	out.Fault, _ = fault.Load().(string)
	json.NewEncoder(os.Stdout).Encode(out)
}

func seconds(n int) time.Duration { return time.Duration(n) * time.Second }

func failed(err error) {
	failures.Add(1)
	fault.CompareAndSwap(nil, err.Error())
}

// The head that the usual Python client sends.
func post(wish string, bytesWanted int) []byte {
	text := strings.Repeat("Tell me more about it. ", 30)
	if bytesWanted > 0 {
		text = strings.Repeat("QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVphYmNkZWZn", bytesWanted/44)
	}
	body := fmt.Sprintf(`{"user":%q,"stream":%t,"messages":[{"role":"user","content":%q}],"model":"bench"}`, wish, strings.HasPrefix(wish, "sse") || wish == "hold", text)
	return []byte("POST /v1/chat/completions HTTP/1.1\r\nHost: " + address + "\r\n" +
		"Accept: application/json\r\nAccept-Encoding: identity\r\nConnection: keep-alive\r\nUser-Agent: OpenAI/Python 2.8.0\r\n" +
		"Content-Type: application/json\r\nAuthorization: Bearer sk-none\r\nX-Stainless-Lang: python\r\nX-Stainless-Package-Version: 2.8.0\r\n" +
		"X-Stainless-OS: Linux\r\nX-Stainless-Arch: x64\r\nX-Stainless-Runtime: CPython\r\nX-Stainless-Runtime-Version: 3.12.3\r\n" +
		"X-Stainless-Retry-Count: 0\r\nX-Stainless-Read-Timeout: 600\r\nContent-Length: " + strconv.Itoa(len(body)) + "\r\n\r\n" + body)
}

type client struct {
	connection net.Conn
	reader     *bufio.Reader
}

func connect() (*client, error) {
	connection, err := net.DialTimeout("tcp", address, patience)
	if err != nil {
		return nil, err
	}
	return &client{connection, bufio.NewReaderSize(connection, 131072)}, nil
}

// Sends one request and reads its answer to the end; each sees every chunk of a chunked one.
func (c *client) ask(request []byte, each func(data []byte)) error {
	if _, err := c.connection.Write(request); err != nil {
		return err
	}
	length, chunked, err := c.head()
	if err != nil {
		return err
	}
	if !chunked {
		_, err := c.reader.Discard(length)
		return err
	}
	for {
		size, data, err := c.chunk()
		if err != nil || size == 0 {
			return err
		}
		each(data)
	}
}

func (c *client) head() (length int, chunked bool, err error) {
	for first := true; ; first = false {
		line, err := c.reader.ReadSlice('\n')
		if err != nil {
			return 0, false, err
		}
		if first && !bytes.HasPrefix(line, []byte("HTTP/1.1 200")) {
			return 0, false, fmt.Errorf("answered %q", bytes.TrimSpace(line))
		}
		if len(line) <= 2 {
			return length, chunked, nil
		}
		name, value, _ := bytes.Cut(line, []byte(":"))
		switch {
		case len(name) == 14 && bytes.EqualFold(name, []byte("content-length")):
			length, _ = strconv.Atoi(string(bytes.TrimSpace(value)))
		case len(name) == 17 && bytes.EqualFold(name, []byte("transfer-encoding")):
			chunked = true
		}
	}
}

func (c *client) chunk() (int, []byte, error) {
	line, err := c.reader.ReadSlice('\n')
	if err != nil {
		return 0, nil, err
	}
	size, err := strconv.ParseInt(string(bytes.TrimSpace(line)), 16, 32)
	if err != nil {
		return 0, nil, err
	}
	data, err := c.reader.Peek(int(size) + 2)
	if err == nil {
		c.reader.Discard(len(data))
	}
	return int(size), data[:max(0, len(data)-2)], err
}

func requests(connections int, during time.Duration, bodyBytes int) result {
	request := post("json", bodyBytes)
	begin := time.Now()
	taken := together(connections, func(_ int, took *[]float64) error {
		c, err := connect()
		if err != nil {
			return err
		}
		defer c.connection.Close()
		for time.Since(begin) < during {
			from := time.Now()
			c.connection.SetDeadline(from.Add(patience))
			if err := c.ask(request, func([]byte) {}); err != nil {
				return err
			}
			*took = append(*took, micros(time.Since(from)))
		}
		return nil
	})
	return summary(taken, time.Since(begin), len(request))
}

func streams(count, rate, secs int) result {
	request := post(fmt.Sprintf("sse %d %d", rate, rate*secs), 0)
	begin := time.Now()
	taken := together(count, func(_ int, took *[]float64) error {
		c, err := connect()
		if err != nil {
			return err
		}
		defer c.connection.Close()
		c.connection.SetDeadline(time.Now().Add(seconds(secs) + patience))
		// A proxy may put several events into one chunk, and cut them anywhere.
		var begun []byte
		err = c.ask(request, func(data []byte) {
			now := time.Now().UnixNano()
			events := bytes.Split(append(begun, data...), []byte("\n\n"))
			begun = bytes.Clone(events[len(events)-1])
			for _, event := range events[:len(events)-1] {
				if _, at, found := bytes.Cut(event, []byte(`"at":`)); found && len(at) >= 19 {
					sent, _ := strconv.ParseInt(string(at[:19]), 10, 64)
					*took = append(*took, float64(now-sent)/1e3)
				}
			}
		})
		if err == nil && len(*took) != rate*secs {
			err = fmt.Errorf("%d of %d events came", len(*took), rate*secs)
		}
		return err
	})
	return summary(taken, time.Since(begin), 0)
}

func mixed(rate int, during time.Duration, bodyBytes int) result {
	small, big := post("json", 0), post("json", bodyBytes)
	begin := time.Now()
	const uploaders, askers = 1, 20
	var uploaded atomic.Int64
	taken := together(uploaders+askers, func(i int, took *[]float64) error {
		c, err := connect()
		if err != nil {
			return err
		}
		defer c.connection.Close()
		due := begin.Add(time.Duration(i) * time.Second / time.Duration(rate))
		for time.Since(begin) < during {
			c.connection.SetDeadline(time.Now().Add(patience))
			if i < uploaders {
				if err := c.ask(big, func([]byte) {}); err != nil {
					return err
				}
				uploaded.Add(1)
				continue
			}
			time.Sleep(time.Until(due))
			if err := c.ask(small, func([]byte) {}); err != nil {
				return err
			}
			// From when it was due, so that waiting for the answer before counts.
			*took = append(*took, micros(time.Since(due)))
			due = due.Add(askers * time.Second / time.Duration(rate))
		}
		return nil
	})
	out := summary(taken, time.Since(begin), 0)
	out.Bytes = int(uploaded.Load()) * len(big)
	return out
}

func hold(count int) {
	request := post("hold", 0)
	held := make([]*client, 0, count)
	for range count {
		c, err := connect()
		if err == nil {
			_, err = c.connection.Write(request)
		}
		if err == nil {
			_, _, err = c.head()
		}
		if err == nil {
			_, _, err = c.chunk()
		}
		if err != nil {
			failed(err)
			break
		}
		held = append(held, c)
	}
	why, _ := fault.Load().(string)
	json.NewEncoder(os.Stdout).Encode(result{Done: len(held), Failed: int(failures.Load()), Fault: why})
	io.Copy(io.Discard, os.Stdin)
}

func together(count int, work func(i int, took *[]float64) error) []float64 {
	took := make([][]float64, count)
	var group sync.WaitGroup
	for i := range count {
		group.Add(1)
		go func() {
			defer group.Done()
			if err := work(i, &took[i]); err != nil {
				failed(err)
			}
		}()
	}
	group.Wait()
	return slices.Concat(took...)
}

func micros(d time.Duration) float64 { return float64(d) / 1e3 }

func summary(taken []float64, lasted time.Duration, each int) result {
	slices.Sort(taken)
	at := func(share float64) float64 {
		if len(taken) == 0 {
			return 0
		}
		return taken[int(share*float64(len(taken)-1))]
	}
	return result{Done: len(taken), Bytes: len(taken) * each, Secs: lasted.Seconds(), P50: at(0.5), P99: at(0.99)}
}
