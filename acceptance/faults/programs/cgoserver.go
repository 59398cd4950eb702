// https://github.com/golang/go/issues/21827: the handler goroutine of a server is locked to an OS thread, so that each request and each
// answer over a channel is a switch between two threads. Fixed: it is not locked.
package main

import (
	"fmt"
	"os"
	"runtime"
	"time"
)

const requests = 100000

type request struct {
	key   int
	reply chan uint64
}

var sink uint64

func workUs(us float64) uint64 {
	x := uint64(us) | 1
	for i := int(us * 750); i > 0; i-- {
		x = x*2862933555777941757 + 3037000493
	}
	return x
}

func handler(in chan request, locked bool) {
	if locked {
		runtime.LockOSThread() // as a library with state for each thread asks for
		defer runtime.UnlockOSThread()
	}
	for r := range in {
		r.reply <- workUs(6) + uint64(r.key)
	}
}

func side(every time.Duration, us float64) {
	for range time.Tick(every) {
		if text, err := os.ReadFile("/proc/self/stat"); err == nil {
			sink += uint64(len(text)) + workUs(us)
		}
	}
}

func main() {
	fixed := len(os.Args) > 1 && os.Args[1] == "fixed"
	go side(100*time.Millisecond, 40)
	go side(250*time.Millisecond, 80)
	in := make(chan request)
	go handler(in, !fixed)
	began := time.Now()
	reply := make(chan uint64)
	for i := 0; i < requests; i++ {
		in <- request{i, reply}
		sink += <-reply + workUs(10) // the client uses the answer
	}
	close(in)
	fmt.Printf("work_ms=%.1f\n", float64(time.Since(began).Microseconds())/1e3)
}
