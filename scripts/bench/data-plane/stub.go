// The engine of the data-plane bench: answers HTTP/1.1 POSTs over plain sockets with as little work as can be.
// What it answers is asked for in the body, as `"user":"..."`: "json" or nothing, "sse RATE CHUNKS", or "hold".
package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"time"
)

const (
	answer   = `{"id":"chatcmpl-1","object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":"hello"},"finish_reason":"stop"}],"usage":{"prompt_tokens":8,"completion_tokens":1,"total_tokens":9}}`
	event    = "data: {\"id\":\"chatcmpl-1\",\"object\":\"chat.completion.chunk\",\"model\":\"bench\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\" token\"},\"finish_reason\":null}],\"at\":%019d}\n\n"
	sseHead  = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
	sseTail  = "0\r\n\r\n"
	searched = 1024
)

var plain = []byte(fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(answer), answer))

func main() {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(listener.Addr().(*net.TCPAddr).Port)
	go func() {
		// Whoever started it is gone when its end of the pipe is.
		io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	for {
		connection, err := listener.Accept()
		if err != nil {
			return
		}
		go serve(connection)
	}
}

func serve(connection net.Conn) {
	defer connection.Close()
	reader := bufio.NewReaderSize(connection, 65536)
	for {
		length, chunked, err := readHead(reader)
		if err != nil {
			return
		}
		wish, err := readBody(reader, length, chunked)
		if err != nil || !fulfil(connection, wish) {
			return
		}
	}
}

func readHead(reader *bufio.Reader) (length int, chunked bool, err error) {
	for {
		line, err := reader.ReadSlice('\n')
		if err != nil {
			return 0, false, err
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

// Reads the body to its end and keeps only what the wish is looked for in: its two ends.
func readBody(reader *bufio.Reader, length int, chunked bool) (string, error) {
	var ends []byte
	take := func(n int) error {
		for n > 0 {
			piece, err := reader.Peek(min(n, max(1, reader.Buffered())))
			if err != nil {
				return err
			}
			ends = append(ends, piece[:min(len(piece), searched)]...)
			ends = append(ends, piece[max(0, len(piece)-searched):]...)
			if len(ends) > 8*searched {
				ends = append(ends[:searched], ends[len(ends)-searched:]...)
			}
			reader.Discard(len(piece))
			n -= len(piece)
		}
		return nil
	}
	if !chunked {
		err := take(length)
		return wishIn(ends), err
	}
	for {
		line, err := reader.ReadString('\n')
		if err != nil {
			return "", err
		}
		size, err := strconv.ParseInt(strings.TrimSpace(line), 16, 64)
		if err != nil {
			return "", err
		}
		if err := take(int(size)); err != nil {
			return "", err
		}
		if _, err := reader.ReadString('\n'); err != nil {
			return "", err
		}
		if size == 0 {
			return wishIn(ends), nil
		}
	}
}

func wishIn(body []byte) string {
	_, after, found := bytes.Cut(body, []byte(`"user":"`))
	if !found {
		return ""
	}
	wish, _, _ := bytes.Cut(after, []byte(`"`))
	return string(wish)
}

func fulfil(connection net.Conn, wish string) bool {
	words := strings.Fields(wish)
	switch {
	case len(words) == 3 && words[0] == "sse":
		rate, _ := strconv.Atoi(words[1])
		chunks, _ := strconv.Atoi(words[2])
		return stream(connection, rate, chunks)
	case len(words) == 1 && words[0] == "hold":
		chunk := frame(event)
		connection.Write([]byte(sseHead + string(chunk)))
		connection.Read(make([]byte, 1))
		return false
	default:
		_, err := connection.Write(plain)
		return err == nil
	}
}

// A chunk each period, with the moment it was sent in it. One that is late does not shift those after it.
func stream(connection net.Conn, rate, chunks int) bool {
	if _, err := connection.Write([]byte(sseHead)); err != nil {
		return false
	}
	period := time.Second / time.Duration(rate)
	next := time.Now().Add(time.Duration(time.Now().UnixNano()) % period)
	for range chunks {
		time.Sleep(time.Until(next))
		next = next.Add(period)
		if _, err := connection.Write(frame(event)); err != nil {
			return false
		}
	}
	_, err := connection.Write([]byte(sseTail))
	return err == nil
}

func frame(format string) []byte {
	data := fmt.Sprintf(format, time.Now().UnixNano())
	return []byte(fmt.Sprintf("%x\r\n%s\r\n", len(data), data))
}
