// https://github.com/golang/go/pull/79872: time.Sleep of less than a millisecond lasts a whole one on Linux, as the runtime waits in
// epoll_wait, which counts milliseconds. Fixed: nanosleep, which has a finer clock.
package main

import (
	"fmt"
	"net"
	"os"
	"syscall"
	"time"
)

const packets = 1500

var result uint64

func workUs(us int) {
	x := uint64(us)
	for i := 0; i < us*750; i++ {
		x = x*2862933555777941757 + 3037000493
	}
	result = x
}

func sleep(d time.Duration, fine bool) {
	if !fine {
		time.Sleep(d)
		return
	}
	t := syscall.NsecToTimespec(int64(d))
	syscall.Nanosleep(&t, nil)
}

func metrics() {
	for range time.Tick(100 * time.Millisecond) {
		os.ReadFile("/proc/self/stat")
	}
}

// Sends packets at the pace of a link: 40 us to fill one, then 80 us of pause.
func main() {
	fine := len(os.Args) > 1 && os.Args[1] == "fixed"
	sink, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	to, err := net.Dial("udp", sink.LocalAddr().String())
	if err != nil {
		panic(err)
	}
	go metrics()
	packet := make([]byte, 1200)
	began := time.Now()
	for i := 0; i < packets; i++ {
		workUs(40)
		to.Write(packet)
		sleep(80*time.Microsecond, fine)
	}
	fmt.Printf("work_ms=%.1f\n", float64(time.Since(began).Microseconds())/1e3)
}
