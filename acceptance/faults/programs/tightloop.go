// https://github.com/golang/go/issues/10958: a goroutine in a loop without calls is not preempted; the garbage collector has stopped the
// others and waits for it. The runtime of Go 1.13 is had by GODEBUG=asyncpreemptoff=1. Fixed: asynchronous preemption is on.
package main

import (
	"fmt"
	"os"
	"runtime"
	"sort"
	"syscall"
	"time"
)

const ticks = 400

var (
	sum  uint64
	kept [64][]byte
)

// A loop without calls: some 35 ms of arithmetic.
func crunch() {
	x := uint64(7)
	for i := 0; i < 40000*750; i++ {
		x = x*2862933555777941757 + 3037000493
	}
	sum += x
}

func compute() {
	for {
		crunch()
		time.Sleep(8 * time.Millisecond)
	}
}

// Requests make garbage.
func allocate() {
	for i := 0; ; i++ {
		kept[i%len(kept)] = make([]byte, 256<<10)
		if i%16 == 0 {
			time.Sleep(6 * time.Millisecond)
		}
	}
}

func metrics() {
	for range time.Tick(100 * time.Millisecond) {
		os.ReadFile("/proc/self/stat")
	}
}

func main() {
	fixed := len(os.Args) > 1 && os.Args[1] == "fixed"
	if !fixed && os.Getenv("GODEBUG") == "" {
		self, _ := os.Executable()
		syscall.Exec(self, os.Args, append(os.Environ(), "GODEBUG=asyncpreemptoff=1"))
	}
	runtime.GOMAXPROCS(2)
	go compute()
	go allocate()
	go metrics()
	late := make([]float64, 0, ticks)
	due := time.Now()
	for i := 0; i < ticks; i++ { // a heartbeat every 6 ms
		due = due.Add(6 * time.Millisecond)
		time.Sleep(time.Until(due))
		late = append(late, float64(time.Since(due).Microseconds())/1e3)
	}
	missed := 0
	for _, l := range late {
		if l > 9 {
			missed++
		}
	}
	sort.Float64s(late)
	fmt.Printf("p99_ms=%.2f missed=%d\n", late[ticks*99/100], missed)
}
